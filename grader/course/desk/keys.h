// Who may come to a desk: lines of authorized_keys, each of which runs one student's `warpgrade desk` and
// allows nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade::desk {

struct AuthorizedKeys {
  std::string text;                   // the file
  std::vector<std::string> students;  // who has a key
  std::vector<std::string> without;   // on the roster, without one
  std::vector<std::string> refused;   // "FILE:LINE: why": keys that were left out
};

// Public keys lie in `keys` as <student>.pub, one a line, or all in one file of lines "STUDENT KEY". Throws
// UsageError: no roster, no keys, a student whose id cannot stand in the file.
AuthorizedKeys make_authorized_keys(const std::filesystem::path& desk, const std::filesystem::path& roster,
                                    const std::filesystem::path& keys);

}  // namespace warpgrade::desk
