#include "check/warp_sync.h"

#include <cstdio>

#include "check/diagnose.h"
#include "program/program.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

std::string hexadecimal(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

}  // namespace

void report_not_in_mask(Warp& w, const Inst& i, uint32_t lane, uint32_t members) {
  Diagnostic d = diagnose(w, i, lane, Finding::wrong_mask);
  d.message += "lane " + std::to_string(lane) + " calls with the mask " + hexadecimal(members) +
               ", which does not name it";
  d.advice =
      "The mask of a *_sync function names exactly the lanes that call it together: compute it before the "
      "branch with "
      "__ballot_sync, or use the full mask outside of branches.";
  w.block->launch->report(*w.block, std::move(d));
}

void report_absent_source(Warp& w, const Inst& i, uint32_t lane, uint32_t source) {
  Diagnostic d = diagnose(w, i, lane, Finding::undefined_shuffle);
  const bool exited = (w.live >> source & 1) == 0;
  d.message += "lane " + std::to_string(lane) + " takes the value of lane " + std::to_string(source) +
               ", which " + (exited ? "has returned" : "takes no part") + ": the value is undefined";
  d.advice =
      "Let all lanes of the warp reach the shuffle: do not return before it, and let lanes without work pass "
      "a neutral value. Or give a width that leaves the missing lanes out.";
  w.block->launch->report(*w.block, std::move(d));
}

void report_early_exit(const Warp& w, const Inst& i, uint32_t lane) {
  w.block->launch->add_early_exit(*w.block, [&] {
    Diagnostic d = diagnose(w, i, lane, Finding::early_exit);
    const uint32_t gone = w.block->threads - w.block->live;
    d.message += std::to_string(gone) + " of the block's " + std::to_string(w.block->threads) +
                 " threads have returned before this barrier, and the barrier does not wait for them";
    d.advice =
        "This is allowed since compute capability 7.0. But what those threads should have loaded or computed "
        "before the barrier is missing: guard the work with the condition instead of returning early.";
    return d;
  });
}

}  // namespace warpgrade::emu
