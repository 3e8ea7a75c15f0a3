// Sampling, optimized: by fan-out a thread a cell, a thread four cells (flat.cuh), or a block a row
// that is staged in shared memory (rows.cuh). The latter two use every word of a Philox call; all
// reduce by multiplication.
//
// Floor   4 * count * fanout bytes written and 4 * edges read, over the DRAM rate.
#include "flat.cuh"
#include "rows.cuh"
#include "warpgrade/sampling.h"

namespace optimized {
namespace {

constexpr int kLeastForFours = 32;  // below: a thread a cell
constexpr int kLeastForRows = 256;  // below: too few draws to read rows in full

// Enough of an SM's memory for the staging buffers of as many blocks as its threads allow.
cudaError_t prefer_shared_memory(const void* kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared);
}

unsigned flat_blocks(unsigned threads) {
  return (threads + kFlatThreads - 1) / kFlatThreads;
}

}  // namespace
}  // namespace optimized

cudaError_t sampling_plan(const CsrGraph&, int, int fanout, SamplingPlan** plan, cudaStream_t) {
  using namespace optimized;
  *plan = nullptr;
  return prefer_shared_memory(fanout % 4 == 0
                                  ? reinterpret_cast<const void*>(sampling_staged_rows_kernel<true>)
                                  : reinterpret_cast<const void*>(sampling_staged_rows_kernel<false>));
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  using namespace optimized;
  const unsigned cells = static_cast<unsigned>(count) * fanout;
  if (cells == 0) return cudaSuccess;
  if (fanout >= kLeastForRows) {
    const auto kernel =
        fanout % 4 == 0 ? sampling_staged_rows_kernel<true> : sampling_staged_rows_kernel<false>;
    kernel<<<count, RowTile::kThreads, 0, stream>>>(graph, nodes, fanout, seed, samples);
  } else if (fanout >= kLeastForFours) {
    sampling_fours_kernel<<<flat_blocks((cells + 3) / 4), kFlatThreads, 0, stream>>>(graph, nodes, cells,
                                                                                     fanout, seed, samples);
  } else {
    sampling_cells_kernel<<<flat_blocks(cells), kFlatThreads, 0, stream>>>(graph, nodes, cells, fanout, seed,
                                                                           samples);
  }
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
