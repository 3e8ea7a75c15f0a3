#include "check/diagnose.h"

#include <algorithm>

#include "program/program.h"
#include "state/launch.h"

namespace warpgrade::emu {

Diagnostic diagnose(const Warp& w, const Inst& i, uint32_t lane, Finding kind) {
  const Program& program = *w.block->program;
  const Program::Place place = program.place(i);
  Diagnostic d;
  d.kind = kind;
  d.path = place.path;
  d.line = place.line;
  d.kernel = program.title;
  d.block = {w.block->id[0], w.block->id[1], w.block->id[2]};
  const uint32_t* size = w.block->launch->block;
  const uint32_t t = w.index * kLanes + lane;
  d.thread = {t % size[0], t / size[0] % size[1], t / size[0] / size[1]};
  if (!place.inlined_from.empty()) d.message = "(in code inlined from " + place.inlined_from + ") ";
  return d;
}

DiagnosedParty party_of(const Warp& w, const Inst& i, uint32_t lane, std::string access) {
  const Diagnostic d = diagnose(w, i, lane, Finding::trap);
  const auto triple = [](const std::vector<uint32_t>& v) {
    return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
  };
  return {d.path, d.line, std::move(access), triple(*d.block), triple(*d.thread)};
}

std::string loops_around(const Program& program, uint32_t index) {
  std::string innermost, outermost;
  // Bodies are contiguous, so loops around an instruction end in the order of their nesting.
  for (uint32_t end = index; end < program.code.size(); ++end) {
    const Inst& branch = program.code[end];
    if (program.texts[end].compare(0, 3, "bra") != 0 || branch.target > index || branch.target > end)
      continue;
    const Program::Place back = program.place(branch);
    uint32_t first = back.line, last = back.line;
    for (uint32_t k = branch.target; k < end; ++k) {
      const Program::Place place = program.place(program.code[k]);
      if (place.line == 0 || place.path != back.path) continue;
      first = std::min(first, place.line);
      last = std::max(last, place.line);
    }
    outermost = first == last ? "the loop of line " + std::to_string(first)
                              : "the loop of lines " + std::to_string(first) + " to " + std::to_string(last);
    if (innermost.empty()) innermost = outermost;
  }
  if (innermost.empty()) return "";
  return ", in " + innermost + (outermost == innermost ? "" : " inside " + outermost);
}

const char* access_name(const Inst& i) {
  return i.category == Category::atomic ? "atomic" : i.variant != 0 ? "store" : "load";
}

}  // namespace warpgrade::emu
