// What a compiler or linker said, in the student's own names.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace warpgrade {

// What stands in for the judge's own objects and sources in a message.
inline constexpr const char* kJudgesProgram = "the judge's program";

struct ShownNames {
  // Beginnings of paths, each with what is shown instead: {"/run/warpgrade/source/", ""}. The first
  // that fits.
  std::vector<std::pair<std::string, std::string>> prefixes;
  // Folders of the judge's own objects and sources, each ending in '/'. A path below one of them, with its
  // line, becomes kJudgesProgram; a line that only says in which of the judge's functions something happened
  // is left out.
  std::vector<std::string> own_folders;
};

std::string with_shown_names(const std::string& words, const ShownNames& names);

// The first line of the log that tells of an error, on one line and with demangled names; empty when none
// does. `source` is the file that was compiled, empty for the link. No flag of the kinds `forbidden` is
// advised.
std::string first_error(const std::string& log, const std::string& source,
                        const std::set<std::string>& forbidden = {});

}  // namespace warpgrade
