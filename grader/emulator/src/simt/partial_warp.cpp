// Matrix instructions that fewer than 32 lanes reach, that are not awaited, or whose layout is left out.
#include <string>
#include <utility>

#include "check/diagnose.h"
#include "exec/handlers.h"
#include "exec/matrix.h"
#include "program/program.h"
#include "simt/copy_engine.h"
#include "state/launch.h"

namespace warpgrade::emu {

void report_partial_warp(const Warp& w, const Inst& i) {
  const auto first_missing = static_cast<uint32_t>(__builtin_ctz(~w.mask));
  Diagnostic d = diagnose(w, i, first_missing, Finding::partial_warp);
  d.message += w.block->program->texts[i.index] + " needs all 32 lanes of the warp and got " +
               std::to_string(__builtin_popcount(w.mask)) + "; the result is undefined";
  d.advice =
      "Let whole warps reach this line: no early return or condition that differs between the lanes of a "
      "warp, and a block size that is a multiple of 32.";
  w.block->launch->report(*w.block, std::move(d));
}

void refuse_short_lines(Warp& w, const Inst& i) {
  Diagnostic d = diagnose(w, i, static_cast<uint32_t>(__builtin_ctz(w.mask)), Finding::unsupported);
  d.message +=
      "unsupported wgmma.mma_async.sp with B along k in lines of 32 bytes (the swizzle of its descriptor)";
  d.advice =
      "A step of k has 64 bytes of B. Lay B out without a swizzle, or with one of 64 or 128 bytes, or run "
      "this part on a GPU.";
  stop_launch(w, std::move(d), Fault::illegal_instruction);
}

namespace {

// An instruction that reads accumulators whose products nobody has awaited (program/unawaited_products.h).
void use_unawaited(Warp& w, const Inst& i) {
  if (w.worker->sync_check && !w.block->launch->spoil_trial()) {
    w.block->launch->add_doubtful(i.index, *w.block, [&] {
      Diagnostic d = diagnose(w, i, static_cast<uint32_t>(__builtin_ctz(w.mask)), Finding::unawaited_product);
      d.message += "uses an accumulator of wgmma.mma_async while the product is still under way";
      d.advice =
          "Commit the group (wgmma.commit_group) and wait for it (wgmma.wait_group) before the accumulators "
          "are "
          "read; wait_group n leaves the last n groups under way.";
      return d;
    });
  }
  i.inner(w, i);
}

}  // namespace

void add_unawaited_handlers(HandlerTable& t) {
  t.add(use_unawaited, "wgmma.unawaited");
}

}  // namespace warpgrade::emu
