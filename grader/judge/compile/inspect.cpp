#include "judge/compile/inspect.h"

#include <elf.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "base/text.h"
#include "judge/compile/elf_symbols.h"
#include "judge/compile/vendor_libraries.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// Ways to reach a library that was not linked.
const std::set<std::string, std::less<>> kLoaders{"dlopen", "dlmopen"};

}  // namespace

std::optional<std::string> forbidden_header(const std::string& dependencies) {
  std::istringstream words(dependencies);
  for (std::string word; words >> word;) {
    const fs::path path = word;
    const std::string name = path.filename().string();
    if (name.ends_with(".h") &&
        (is_header_library(name) || is_header_library(path.parent_path().filename().string()))) {
      return name;
    }
  }
  return std::nullopt;
}

std::optional<Finding> inspect_symbols(std::string_view object) {
  const ElfSymbols found = read_elf_symbols(object);
  if (found.problem) {
    return Finding{Reason::kUnreadableObject, "",
                   fmt::format("the compiled object cannot be checked: {}. Remove inline assembly, sections "
                               "and attributes that change the object file",
                               *found.problem)};
  }
  for (const ElfSymbol& symbol : found.symbols) {
    if (symbol.binding == STB_LOCAL || symbol.defined) continue;
    const std::string name = plain_line(symbol.name, 100);
    if (is_vendor_name(symbol.name))
      return Finding{
          Reason::kForbiddenLibrary, std::string(symbol.name),
          fmt::format("calls {}, a library's function. Write the kernels yourself, and remove this call",
                      name)};
    if (kLoaders.contains(symbol.name))
      return Finding{
          Reason::kForbiddenLibrary, std::string(symbol.name),
          fmt::format("calls {} to load a library at run time, and the judge's box holds none. Remove this "
                      "call",
                      name)};
  }
  return std::nullopt;
}

}  // namespace warpgrade
