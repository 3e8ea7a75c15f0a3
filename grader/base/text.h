// Text from outside, made fit for JSON, terminals and pages.
#pragma once

#include <string>
#include <string_view>

namespace warpgrade {

// The text as valid UTF-8 (RFC 3629): each byte that belongs to no well-formed sequence becomes U+FFFD. Text
// that is valid already comes back unchanged. Compilers and programs may print any bytes; nlohmann's dump()
// throws on some of them, so text is made valid where it enters.
std::string valid_utf8(std::string_view text);

// The same on one line that a terminal shows as it stands: control characters become spaces. Longer text ends
// in "..." within `most_bytes` (16 or more), and no letter is cut in two.
std::string one_line(std::string_view text, std::size_t most_bytes);

// The last `most_bytes` of valid UTF-8, from the beginning of a letter on.
std::string_view tail_of(std::string_view text, std::size_t most_bytes);

}  // namespace warpgrade
