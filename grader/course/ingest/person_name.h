// Names of people as keys: the same person is written in many ways.
#pragma once

#include <string>
#include <vector>

namespace warpgrade {

// Without regard to case and to how accents are encoded (Unicode NFKC and case folding, where the build has
// utf8proc; ASCII's case alone without it), and to characters that nobody sees (base/text.h).
std::string folded(const std::string& text);

// A name without spaces and punctuation, folded: "Lovelace, Ada" gives "lovelaceada".
std::string name_key(const std::string& name);

// The keys of all orders in which courseware writes a name: each rotation of its words, so that "Ada King
// Lovelace" is found as "Lovelace, Ada King" too.
std::vector<std::string> name_keys(const std::string& name);

}  // namespace warpgrade
