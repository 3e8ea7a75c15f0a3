// Reads what `nvcc -Xptxas -v` prints on each kernel. A source can print such lines itself (#pragma message),
// so no line makes the reader recurse, throw or grow.
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

#include "base/process.h"
#include "compile/compiler.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMostKernels = 5000, kLongestName = 4000, kNamesAtOnce = 100;

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

// A name of a hundred letters can demangle to gigabytes (each part may name an earlier one twice), and
// __cxa_demangle knows no limit. So binutils' program does it, within limits; what it does not do stays as it
// is.
std::map<std::string, std::string> demangle(const std::vector<std::string>& names) {
  ProcessOptions options;
  options.command = {"c++filt"};
  options.command.insert(options.command.end(), names.begin(), names.end());
  options.timeout = std::chrono::seconds(10);
  options.limits.address_space_bytes = std::size_t{256} << 20;
  options.output_bytes = 1 << 20;
  const ProcessResult result = run_process(options);
  std::map<std::string, std::string> demangled;
  if (!result.ok() || result.standard_output.size() >= options.output_bytes) return demangled;
  std::istringstream lines(result.standard_output);
  for (const std::string& name : names) {
    std::string line;
    if (std::getline(lines, line) && line.size() <= kLongestName) demangled[name] = line;
  }
  return demangled;
}

// In groups, so that one bad name costs its neighbours only.
void demangle_all(std::vector<KernelResources>& kernels) {
  std::vector<std::string> names;
  for (const KernelResources& kernel : kernels) {
    const bool plain =
        kernel.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") ==
        std::string::npos;
    if (plain && kernel.name.starts_with("_Z")) names.push_back(kernel.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::string> demangled;
  for (std::size_t begin = 0; begin < names.size(); begin += kNamesAtOnce) {
    const auto end =
        names.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kNamesAtOnce, names.size()));
    demangled.merge(demangle({names.begin() + static_cast<std::ptrdiff_t>(begin), end}));
  }
  for (KernelResources& kernel : kernels) {
    if (const auto found = demangled.find(kernel.name); found != demangled.end()) kernel.name = found->second;
  }
}

void read_line(std::string_view line, std::vector<KernelResources>& kernels) {
  const std::string_view name = quoted_after(line, "Compiling entry function '");
  if (!name.empty()) {
    if (kernels.size() < kMostKernels)
      kernels.push_back({std::string(name.substr(0, kLongestName)),
                         std::string(quoted_after(line, "' for '").substr(0, 20))});
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
