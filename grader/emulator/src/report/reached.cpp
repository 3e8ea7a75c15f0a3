#include "report/reached.h"

#include <algorithm>
#include <variant>

#include "support/json_line.h"

namespace warpgrade::emu {
namespace {

// Longer texts of a report are cut (judge/judging/report_lines.cpp).
constexpr size_t kLongestMessage = 1900;

std::string range_text(size_t begin, size_t end) {
  return std::to_string(begin) + (end - begin > 1 ? "-" + std::to_string(end - 1) : "");
}

}  // namespace

void ReachedInstructions::know_places(const Module& module) {
  for (const auto& [name, function] : module.functions) {
    uint32_t ordinal = 0;
    for (const Statement& statement : function.body) {
      const auto* instruction = std::get_if<Instruction>(&statement);
      if (instruction != nullptr) places_[instruction->opcode.data()] = {std::string(name), ordinal++};
    }
  }
}

void ReachedInstructions::add(const Program& program, const WorkerCounts& counts) {
  // A module's bodies are read as its programs are built.
  if (known_.try_emplace(&program, true).second) know_places(*program.module);
  for (size_t i = 0; i < program.code.size(); ++i) {
    const uint64_t warps = counts.executed[i].warps + counts.busy[i].warps;
    const auto place = places_.find(program.written[i]);
    if (warps == 0 || place == places_.end()) continue;
    std::vector<Reached>& of = functions_[place->second.function];
    of.resize(std::max<size_t>(of.size(), place->second.ordinal + 1), Reached::no);
    const bool runs = counts.executed[i].lanes + counts.busy[i].lanes != 0;
    Reached& known = of[place->second.ordinal];
    known = std::max(known, runs ? Reached::yes : Reached::guard_false);
  }
}

void ReachedInstructions::drain(const std::string& function, const std::vector<Reached>& ordinals,
                                Reached kind, LineQueue& lines) {
  const std::string name = kind == Reached::yes ? "reached" : "guard_false";
  std::string ranges;
  const auto push = [&] {
    if (!ranges.empty())
      lines.push(JsonLine().text("kernel", function).text("kind", name).text("message", ranges).str());
    ranges.clear();
  };
  for (size_t begin = 0; begin < ordinals.size(); ++begin) {
    if (ordinals[begin] != kind) continue;
    size_t end = begin;
    while (end < ordinals.size() && ordinals[end] == kind) ++end;
    ranges += (ranges.empty() ? "" : ",") + range_text(begin, end);
    if (ranges.size() > kLongestMessage) push();
    begin = end;
  }
  push();
}

void ReachedInstructions::drain(LineQueue& lines) {
  for (const auto& [function, ordinals] : functions_) {
    drain(function, ordinals, Reached::yes, lines);
    drain(function, ordinals, Reached::guard_false, lines);
  }
  functions_.clear();
}

}  // namespace warpgrade::emu
