// #include lines after files got other names.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace warpgrade {

// The text of the file `given` with each #include "..." of a renamed file under its new name; lines keep
// their numbers. `names`: new names by given ones. An #include that fits no renamed file stays as it is.
std::string with_tidied_includes(const std::string& text, const std::filesystem::path& given,
                                 const std::map<std::filesystem::path, std::filesystem::path>& names);

}  // namespace warpgrade
