// Reads what `nvcc -Xptxas -v` prints on each kernel. A source can print such lines itself (#pragma message),
// so no line makes the reader recurse, throw or grow.
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "base/text.h"
#include "judge/compile/compiler.h"
#include "judge/compile/demangle.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMostKernels = 5000;

// "12" and 7 of "spills: 12 bytes": the number that ends one space before `at`. 0 when there is none.
std::size_t number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos || at < 2 || line[at - 1] != ' ') return 0;
  const std::string_view before = line.substr(0, at - 1);
  const std::size_t begin = before.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  std::size_t number = 0;
  const auto result = std::from_chars(before.data() + begin, before.data() + before.size(), number);
  return result.ec == std::errc() ? number : 0;
}

// What stands in quotes behind `words`.
std::string_view quoted_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + words.size());
  return rest.substr(0, std::min(rest.find('\''), rest.size()));
}

void demangle_all(std::vector<KernelResources>& kernels) {
  std::vector<std::string> names;
  for (const KernelResources& kernel : kernels) names.push_back(kernel.name);
  const std::map<std::string, std::string> demangled = demangle(std::move(names));
  for (KernelResources& kernel : kernels) {
    if (const auto found = demangled.find(kernel.name); found != demangled.end()) kernel.name = found->second;
  }
}

void read_line(std::string_view line, std::vector<KernelResources>& kernels) {
  const std::string_view name = quoted_after(line, "Compiling entry function '");
  if (!name.empty()) {
    if (kernels.size() < kMostKernels)
      kernels.push_back({plain_line(name, kLongestName), plain_line(quoted_after(line, "' for '"), 20)});
    return;
  }
  if (kernels.empty()) return;
  KernelResources& kernel = kernels.back();
  if (line.find("bytes stack frame") != std::string_view::npos) {
    kernel.stack_bytes = number_before(line, "bytes stack frame");
    kernel.spill_store_bytes = number_before(line, "bytes spill stores");
    kernel.spill_load_bytes = number_before(line, "bytes spill loads");
  } else if (line.find("Used ") != std::string_view::npos) {
    kernel.registers = static_cast<int>(std::min<std::size_t>(number_before(line, "registers"), 1 << 20));
    kernel.shared_bytes = number_before(line, "bytes smem");
    kernel.constant_bytes = number_before(line, "bytes cmem");
  }
}

}  // namespace

nlohmann::json KernelResources::to_json() const {
  return {{"name", name},
          {"arch", architecture},
          {"registers", registers},
          {"shared_bytes", shared_bytes},
          {"constant_bytes", constant_bytes},
          {"stack_bytes", stack_bytes},
          {"spill_store_bytes", spill_store_bytes},
          {"spill_load_bytes", spill_load_bytes}};
}

KernelResources KernelResources::from_json(const nlohmann::json& json) {
  return {json.at("name"),
          json.at("arch"),
          json.at("registers"),
          json.at("shared_bytes"),
          json.at("constant_bytes"),
          json.at("stack_bytes"),
          json.at("spill_store_bytes"),
          json.at("spill_load_bytes")};
}

std::vector<KernelResources> parse_ptxas(const std::string& log) {
  std::vector<KernelResources> kernels;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) read_line(line, kernels);
  demangle_all(kernels);
  return kernels;
}

}  // namespace warpgrade
