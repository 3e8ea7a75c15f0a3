// Text from outside, made fit for JSON, terminals and pages.
#pragma once

#include <string>
#include <string_view>

namespace warpgrade {

// The text as valid UTF-8 (RFC 3629): each byte that belongs to no well-formed sequence becomes U+FFFD. Text
// that is valid already comes back unchanged. Compilers and programs may print any bytes; nlohmann's dump()
// throws on some of them, so text is made valid where it enters.
std::string valid_utf8(std::string_view text);

}  // namespace warpgrade
