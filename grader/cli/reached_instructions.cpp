#include "cli/reached_instructions.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMostInstructions = 10'000'000;

// "0-12,15"
void add_ranges(const std::string& text, std::vector<bool>& ordinals) {
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const char *at = range.data(), *end = at + range.size();
    std::uint32_t first = 0;
    at = std::from_chars(at, end, first).ptr;
    std::uint32_t last = first;
    if (at != end) std::from_chars(at + 1, end, last);
    if (last < first || last >= kMostInstructions) continue;
    ordinals.resize(std::max<std::size_t>(ordinals.size(), last + 1));
    std::fill(ordinals.begin() + first, ordinals.begin() + last + 1, true);
  }
}

bool has(const std::vector<bool>& ordinals, std::uint32_t ordinal) {
  return ordinal < ordinals.size() && ordinals[ordinal];
}

}  // namespace

ReachedInstructions ReachedInstructions::read(const json& counters) {
  ReachedInstructions all;
  for (const json& line : counters.value("kernels", json::array())) {
    const std::string kind = line.value("kind", "");
    if (kind != "reached" && kind != "guard_false") continue;
    Function& function = all.functions_[line.value("kernel", "")];
    add_ranges(line.value("message", ""), kind == "reached" ? function.reached : function.guard_false);
  }
  return all;
}

bool ReachedInstructions::gets_to(const Mutant& mutant) const {
  const auto found = functions_.find(mutant.kernel);
  if (found == functions_.end()) return false;
  // Where the guard holds in no lane, the change of the guard alone does something.
  return has(found->second.reached, mutant.ordinal) ||
         (mutant.operation == "guard_true" && has(found->second.guard_false, mutant.ordinal));
}

}  // namespace warpgrade
