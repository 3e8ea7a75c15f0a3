// SpMM, optimized: a work list of bounded items, strips of B that stay in cache, gathers kept in flight.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32; any k >= 1 (tuned for 32 and 256), any CSR.
// Cost    see kernel.cuh; the plan keeps 16 bytes an item, 4 * k bytes a part of a split row, and a copy of B
//         where k is no multiple of 4, or of 32 and B is read often (pad.cuh).
// Files   plan.cuh makes the plan, launch.cuh runs it; CHOICES.md has all files and the tree of choices.
// Sums    each row is added up in a fixed order: two runs give the same bits.
#include <memory>
#include <new>

#include "launch.cuh"
#include "plan.cuh"
#include "warpgrade/spmm.h"

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (a.rows > 0) TRY(build(a, k, made.get(), stream));
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  const Strategy& s = plan->strategy;
  const bool is_padded = s.padded_pitch > 0;
  if (is_padded) TRY(pad_b(a, k, b, *plan, stream));
  const unsigned row_bytes = (is_padded ? s.padded_pitch : k) * static_cast<unsigned>(sizeof(float));
  Operands op{a.columns,     a.values, is_padded ? plan->padded_b.get() : b, c, k, 0, 0,
              sums_pitch(k), row_bytes};
  if (k == 1 && a.rows > 0) return launch_one_column(a, op, *plan, stream);
  if (s.whole_rows && a.rows > 0) return launch_whole_rows(a, op, *plan, stream);
  if (s.strips > 0) TRY(launch_group(s.group, op, *plan, s.strips, stream));
  if (s.last_columns == 0) return cudaSuccess;
  op.first_column = s.strips * s.group.strip();
  op.first_strip = s.strips;
  return launch_group(s.last, op, *plan, 1, stream);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
