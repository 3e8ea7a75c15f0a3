// Sampling, step 3: rows staged in shared memory, a block a row.
//
// Shapes  nodes [count], samples [count, fanout] row-major.
// Cost    a row of at most kStaged neighbours is read once, in whole lines, and drawn from in shared
// memory: a warp's
//         32 random reads cost about 3.5 cycles (bank conflicts) instead of one for each line that
//         they touch.
// Idea    Random reads of 4 bytes from global memory move whole sectors and cost a cycle a line. Where a
// row is
//         drawn from many times, reading it in full is cheaper.
#include "warpgrade/philox.h"
#include "warpgrade/sampling.h"

namespace {

struct Tile {
  static constexpr int kThreads = 128;
  static constexpr int kStaged = 3072;  // neighbours, 12 KB a block
  static constexpr int kBytesAnSm = 227 * 1024;
  static_assert(kStaged * sizeof(int) * 16 <= kBytesAnSm, "16 blocks an SM: every thread slot");
};

// Draws fours of row i; `row` is in shared or in global memory.
template <bool kAligned>
__device__ void draw_row(const int* row, unsigned degree, unsigned i, unsigned fanout, std::uint64_t seed,
                         int* samples) {
  for (unsigned four = threadIdx.x; 4 * four < fanout; four += Tile::kThreads) {
    const warpgrade::PhiloxWords random = warpgrade::philox({four, i, 0, 0}, seed);
    const std::uint32_t words[4] = {random.x, random.y, random.z, random.w};
    int drawn[4];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      drawn[c] = degree == 0 ? kNoNeighbour : row[warpgrade::draw_below(words[c], degree)];
    if constexpr (kAligned) {
      reinterpret_cast<int4*>(samples)[four] = make_int4(drawn[0], drawn[1], drawn[2], drawn[3]);
    } else {
      for (int c = 0; c < 4 && 4 * four + c < fanout; ++c) samples[4 * four + c] = drawn[c];
    }
  }
}

// Grid: a block a row of `samples`. kAligned: rows of `samples` begin at multiples of 16 bytes.
template <bool kAligned>
__global__ __launch_bounds__(Tile::kThreads) void sampling_staged_rows_kernel(
    CsrGraph graph, const int* __restrict__ nodes, unsigned fanout, std::uint64_t seed,
    int* __restrict__ samples) {  // [count, fanout]
  __shared__ int staged[Tile::kStaged];
  const unsigned i = blockIdx.x;
  const int begin = graph.row_offsets[nodes[i]];
  const unsigned degree = graph.row_offsets[nodes[i] + 1] - begin;
  const int* row = graph.columns + begin;
  samples += static_cast<std::size_t>(i) * fanout;
  // Staging pays when it reads less than the sectors of 8 entries that the draws would touch.
  if (degree > Tile::kStaged || degree > 8 * fanout) {
    return draw_row<kAligned>(row, degree, i, fanout, seed, samples);
  }
  for (unsigned e = threadIdx.x; e < degree; e += Tile::kThreads) staged[e] = row[e];
  __syncthreads();
  draw_row<kAligned>(staged, degree, i, fanout, seed, samples);
}

}  // namespace

cudaError_t sampling_plan(const CsrGraph&, int, int, SamplingPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan*, cudaStream_t stream) {
  if (count == 0 || fanout == 0) return cudaSuccess;
  const auto kernel =
      fanout % 4 == 0 ? sampling_staged_rows_kernel<true> : sampling_staged_rows_kernel<false>;
  kernel<<<count, Tile::kThreads, 0, stream>>>(graph, nodes, fanout, seed, samples);
  return cudaGetLastError();
}

void sampling_free(SamplingPlan*) {}
