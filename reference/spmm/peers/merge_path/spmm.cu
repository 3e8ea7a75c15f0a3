// SpMM, a peer for k = 1 (a product with a vector): the merge path cuts rows and entries into equal shares.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32; other k run column by column, which is right and
//         slow.
// Idea    The ends of the rows and the numbers of the entries are two sorted lists. A path merges them; a
//         block takes kItems steps of it, so at most so many rows and so many entries: hubs and empty rows
//         weigh alike. The block's products go to shared memory with coalesced loads of A; then groups of
//         lanes add up the short rows and warps the long ones. Rows that lie in several blocks meet by
//         partial sums; who arrives last adds them up in a fixed order.
// Cost    The plan keeps 20 bytes a block.
// Source  D. Merrill, M. Garland: Merge-based Parallel Sparse Matrix-Vector Multiplication, SC 2016. Written
//         for this bench.
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <new>

#include "warpgrade/spmm.h"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

// For sweeps: steps of the path that a block takes, and its threads.
#ifndef SPMM_ITEMS
#define SPMM_ITEMS 1024
#endif
#ifndef SPMM_THREADS
#define SPMM_THREADS 128
#endif

namespace {

constexpr int kItems = SPMM_ITEMS, kThreads = SPMM_THREADS, kWarpLanes = 32, kWarps = kThreads / kWarpLanes;
constexpr int kInFlight = 8;  // products a thread has under way
constexpr int kLongRow = 64;  // entries in a block from which on a row has a warp
constexpr int kMostLong = kItems / kLongRow + 1;
static_assert(kThreads % kWarpLanes == 0 && kItems % kWarpLanes == 0, "whole warps");

// Where a block's stretch of the path begins: rows ended before it, and entries used before it.
struct Place {
  int row, entry;
};

}  // namespace

struct SpmmPlan {
  int blocks = 0;
  Place* places = nullptr;  // [blocks + 1]
  float* sums =
      nullptr;  // [blocks, 2]: of the row that began before the block, of the one that goes on after it
  unsigned* arrivals = nullptr;  // [blocks], at the block in which a row begins; zero between launches
  ~SpmmPlan() {
    cudaFree(places);
    cudaFree(sums);
    cudaFree(arrivals);
  }
};

namespace {

// The number of rows that end within the first `step` steps: a row's end comes before an entry of the
// same number.
__global__ void spmm_places_kernel(CsrMatrix a, int blocks, Place* places) {
  const int block = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (block > blocks) return;
  const std::int64_t step = min(std::int64_t{block} * kItems, std::int64_t{a.rows} + a.nnz);
  std::int64_t low = max(std::int64_t{0}, step - a.nnz), high = min(step, std::int64_t{a.rows});
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (a.row_offsets[middle + 1] <= step - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  places[block] = {static_cast<int>(low), static_cast<int>(step - low)};
}

struct Operands {
  CsrMatrix a;
  const float* b;
  float* c;
  int k, column;
  const Place* places;
  float* sums;
  unsigned* arrivals;
};

struct BlockMemory {
  float products[kItems];
  int row_ends[kItems + 1];  // of the rows that end here, then the last entry of the block
  int long_rows[kMostLong];
  int long_count;
};

__device__ float sum_of_warp(float sum) {
#pragma unroll
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  return sum;
}

__device__ void load_products(const Operands& op, const Place& from, const Place& to, BlockMemory* memory) {
  for (int base = from.entry + static_cast<int>(threadIdx.x); base < to.entry; base += kThreads * kInFlight) {
    int columns[kInFlight];
    float values[kInFlight], b[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int at = base + u * kThreads;
      columns[u] = at < to.entry ? __ldcs(op.a.columns + at) : 0;
      values[u] = at < to.entry ? __ldcs(op.a.values + at) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) b[u] = __ldg(op.b + std::int64_t{columns[u]} * op.k + op.column);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int at = base + u * kThreads;
      if (at < to.entry) memory->products[at - from.entry] = values[u] * b[u];
    }
  }
}

// One row of the block, or what the block has of it. All lanes of a warp or one lane of a group calls it.
// A row that lies in this block alone is stored; else its part is published, and the last block to arrive
// adds all up.
__device__ void deliver(const Operands& op, const Place& from, int row, float sum, bool ends_here) {
  const int begin = op.a.row_offsets[row], end = op.a.row_offsets[row + 1];
  float* const cell = op.c + std::int64_t{row} * op.k + op.column;
  const bool began_before = begin < from.entry || (std::int64_t{begin} + row) / kItems < blockIdx.x;
  if (!began_before && ends_here) {
    __stcs(cell, sum);
    return;
  }
  const int first = static_cast<int>((std::int64_t{begin} + row) / kItems);
  const int parts = static_cast<int>((std::int64_t{end} + row) / kItems) - first + 1;
  __stcg(op.sums + 2 * std::int64_t{blockIdx.x} + (began_before ? 0 : 1), sum);
  unsigned before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(op.arrivals + first)
               : "memory");
  if (before + 1 != static_cast<unsigned>(parts)) return;
  op.arrivals[first] = 0;  // ready for the next launch
  float total = __ldcg(op.sums + 2 * std::int64_t{first} + 1);
  for (int part = 1; part < parts; ++part) total += __ldcg(op.sums + 2 * std::int64_t{first + part});
  __stcs(cell, total);
}

// Lanes that add up a short row together: about its mean length.
__device__ int lanes_of(int entries, int rows) {
  int lanes = 1;
  while (lanes < kWarpLanes && lanes * rows < entries) lanes *= 2;
  return lanes;
}

__global__ void __launch_bounds__(kThreads) spmm_merge_kernel(Operands op) {
  __shared__ BlockMemory memory;
  const Place from = op.places[blockIdx.x], to = op.places[blockIdx.x + 1];
  const int ended = to.row - from.row, lane = threadIdx.x % kWarpLanes, warp = threadIdx.x / kWarpLanes;
  if (threadIdx.x == 0) memory.long_count = 0;
  for (int i = threadIdx.x; i < ended; i += kThreads) memory.row_ends[i] = op.a.row_offsets[from.row + i + 1];
  if (threadIdx.x == 0) memory.row_ends[ended] = to.entry;
  load_products(op, from, to, &memory);
  __syncthreads();
  // The last "row" is what the block has of a row that goes on, where that is not nothing.
  const bool goes_on = to.row < op.a.rows && to.entry > max(from.entry, op.a.row_offsets[to.row]);
  const int rows = ended + (goes_on ? 1 : 0);
  const int lanes = lanes_of(to.entry - from.entry, rows), groups = kThreads / lanes;
  const int my_group = threadIdx.x / lanes, my_lane = threadIdx.x % lanes;
  for (int base = 0; base < rows; base += groups) {
    const int i = base + my_group;
    const int begin = i < rows ? (i == 0 ? from.entry : memory.row_ends[i - 1]) : 0;
    const int end = i < rows ? memory.row_ends[i] : 0;
    const bool is_long = end - begin >= kLongRow;
    float sum = 0.0f;
    for (int at = begin + my_lane; !is_long && at < end; at += lanes) sum += memory.products[at - from.entry];
    for (int mask = lanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
    if (i >= rows || my_lane > 0) continue;
    if (is_long) {
      memory.long_rows[atomicAdd(&memory.long_count, 1)] = i;
    } else {
      deliver(op, from, from.row + i, sum, i < ended);
    }
  }
  __syncthreads();
  for (int l = warp; l < memory.long_count; l += kWarps) {
    const int i = memory.long_rows[l], begin = i == 0 ? from.entry : memory.row_ends[i - 1];
    float sum = 0.0f;
    for (int at = begin + lane; at < memory.row_ends[i]; at += kWarpLanes)
      sum += memory.products[at - from.entry];
    sum = sum_of_warp(sum);
    if (lane == 0) deliver(op, from, from.row + i, sum, i < ended);
  }
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  const std::int64_t steps = std::int64_t{a.rows} + a.nnz;
  if (a.rows > 0) {
    made->blocks = static_cast<int>((steps - 1) / kItems + 1);
    TRY(cudaMalloc(&made->places, (made->blocks + 1) * sizeof(Place)));
    TRY(cudaMalloc(&made->sums, std::size_t{2} * made->blocks * sizeof(float)));
    TRY(cudaMalloc(&made->arrivals, made->blocks * sizeof(unsigned)));
    TRY(cudaMemsetAsync(made->arrivals, 0, made->blocks * sizeof(unsigned), stream));
    spmm_places_kernel<<<made->blocks / 256 + 1, 256, 0, stream>>>(a, made->blocks, made->places);
    TRY(cudaGetLastError());
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  Operands op{a, b, c, k, 0, plan->places, plan->sums, plan->arrivals};
  for (; op.column < k; ++op.column) spmm_merge_kernel<<<plan->blocks, kThreads, 0, stream>>>(op);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
