#include "judge/compile/demangle.h"

#include <algorithm>
#include <sstream>

#include "base/device_name.h"
#include "base/process.h"

namespace warpgrade {
namespace {

constexpr std::size_t kNamesAtOnce = 100;

// A name of a hundred letters can demangle to gigabytes (each part may name an earlier one twice), and
// __cxa_demangle knows no limit. So binutils' program does it, within limits; what it does not do stays as
// it is.
std::map<std::string, std::string> demangle_group(const std::vector<std::string>& names) {
  ProcessOptions options;
  options.command = {"c++filt"};
  for (const std::string& name : names) options.command.emplace_back(without_file(name));
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

bool is_mangled(const std::string& name) {
  return without_file(name).starts_with("_Z") && name.size() <= kLongestName &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") ==
             std::string::npos;
}

}  // namespace

std::map<std::string, std::string> demangle(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !is_mangled(name); });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::string> demangled;
  // In groups, so that one bad name costs its neighbours only.
  for (std::size_t begin = 0; begin < names.size(); begin += kNamesAtOnce) {
    const auto end =
        names.begin() + static_cast<std::ptrdiff_t>(std::min(begin + kNamesAtOnce, names.size()));
    demangled.merge(demangle_group({names.begin() + static_cast<std::ptrdiff_t>(begin), end}));
  }
  return demangled;
}

}  // namespace warpgrade
