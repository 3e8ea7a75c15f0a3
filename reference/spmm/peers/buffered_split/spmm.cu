// SpMM, a peer: a warp takes a fixed number of entries, copied ahead into shared memory by
// asynchronous copies.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32; any k >= 1.
// Idea    A warp takes kShare consecutive entries in rounds of 32. While one round is gathered, cp.async
// brings the next
//         one's columns, values and rows into the other half of a buffer. Each of the warp's groups (8, 16
//         or 32 lanes, 16 bytes a lane) walks its own part of the round and adds its sum to C at a row's
//         end, atomically, since other groups may have entries of that row. C is zeroed first, which is part
//         of the run.
// Cost    The plan keeps the row of every entry, 4 * nnz bytes. Sums differ in their last bits from run to
// run. In the manner of HP-SpMM (splits by entries, two buffers); written for this bench.
#include <cuda_pipeline.h>
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

// For sweeps: entries a warp takes.
#ifndef SPMM_SHARE
#define SPMM_SHARE 64
#endif

namespace {

constexpr int kWarpLanes = 32, kWarps = 4, kThreads = kWarps * kWarpLanes, kRound = 32, kShare = SPMM_SHARE,
              kInFlight = 4;
static_assert(kShare % kRound == 0, "a share is whole rounds");

}  // namespace

struct SpmmPlan {
  int* rows = nullptr;  // [nnz], of each entry
  ~SpmmPlan() { cudaFree(rows); }
};

namespace {

// The row of each entry: the last one that begins at or before it and is not empty.
__global__ void spmm_expand_rows_kernel(CsrMatrix a, int* rows) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= a.nnz) return;
  int low = 0, high = a.rows;  // row_offsets[low] <= at < row_offsets[high]
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (a.row_offsets[middle] <= at ? low : high) = middle;
  }
  rows[at] = low;
}

struct Operands {
  CsrMatrix a;
  const int* rows;
  const float* b;
  float* c;
  int k;
};

struct Round {
  int columns[kRound], rows[kRound];
  float values[kRound];
};

// An entry of the round a lane, so that every address is a multiple of 4 bytes whatever the share begins at.
__device__ void copy_round(const Operands& op, std::int64_t from, Round* round) {
  const int lane = threadIdx.x % kWarpLanes;
  const std::int64_t at = from + lane;
  if (at < op.a.nnz) {
    __pipeline_memcpy_async(&round->columns[lane], op.a.columns + at, sizeof(int));
    __pipeline_memcpy_async(&round->rows[lane], op.rows + at, sizeof(int));
    __pipeline_memcpy_async(&round->values[lane], op.a.values + at, sizeof(float));
  } else {  // missing entries: column 0, left out by their row
    round->columns[lane] = 0;
    round->rows[lane] = -1;
  }
  __pipeline_commit();
}

template <bool kWide>
struct Piece;
template <>
struct Piece<true> {
  static constexpr int kFloats = 4;
  float4 x{0.0f, 0.0f, 0.0f, 0.0f};
  __device__ static Piece load(const float* from) { return {__ldg(reinterpret_cast<const float4*>(from))}; }
  __device__ void add_to(float* to) const {
    atomicAdd(to, x.x);
    atomicAdd(to + 1, x.y);
    atomicAdd(to + 2, x.z);
    atomicAdd(to + 3, x.w);
  }
  __device__ void add_scaled(float a, const Piece& other) {
    x.x = fmaf(a, other.x.x, x.x);
    x.y = fmaf(a, other.x.y, x.y);
    x.z = fmaf(a, other.x.z, x.z);
    x.w = fmaf(a, other.x.w, x.w);
  }
};
template <>
struct Piece<false> {
  static constexpr int kFloats = 1;
  float x = 0.0f;
  __device__ static Piece load(const float* from) { return {__ldg(from)}; }
  __device__ void add_to(float* to) const { atomicAdd(to, x); }
  __device__ void add_scaled(float a, const Piece& other) { x = fmaf(a, other.x, x); }
};

// A group's part of a round. `row` and `sum` go on from round to round.
template <bool kWide, int kLanes>
__device__ void walk_round(const Operands& op, const Round& round, int column, int* row, Piece<kWide>* sum) {
  constexpr int kGroups = kWarpLanes / kLanes, kPart = kRound / kGroups;
  const int first = static_cast<int>(threadIdx.x) % kWarpLanes / kLanes * kPart;
  const float* const b = op.b + (column < op.k ? column : 0);
  for (int j = first; j < first + kPart; j += kInFlight) {
    Piece<kWide> rows_of_b[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u)
      rows_of_b[u] = Piece<kWide>::load(b + std::int64_t{round.columns[j + u]} * op.k);
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int next = round.rows[j + u];
      if (next != *row) {
        if (*row >= 0 && column < op.k) sum->add_to(op.c + std::int64_t{*row} * op.k + column);
        *sum = {};
        *row = next;
      }
      if (next >= 0) sum->add_scaled(round.values[j + u], rows_of_b[u]);
    }
  }
}

// Grid: x = blocks of kWarps shares, y = strips of kLanes vectors.
template <bool kWide, int kLanes>
__global__ void __launch_bounds__(kThreads) spmm_buffered_kernel(Operands op) {
  __shared__ Round rounds[kWarps][2];
  const int warp = threadIdx.x / kWarpLanes;
  const std::int64_t begin = (std::int64_t{blockIdx.x} * kWarps + warp) * kShare;
  const int column = static_cast<int>(blockIdx.y * kLanes + threadIdx.x % kLanes) * Piece<kWide>::kFloats;
  Round* const mine = rounds[warp];
  int row = -1;
  Piece<kWide> sum;
  copy_round(op, begin, &mine[0]);
  for (int r = 0; r < kShare / kRound; ++r) {
    const bool has_next = (r + 1) * kRound < kShare;
    if (has_next) copy_round(op, begin + (r + 1) * kRound, &mine[(r + 1) % 2]);
    has_next ? __pipeline_wait_prior(1) : __pipeline_wait_prior(0);
    __syncwarp();
    walk_round<kWide, kLanes>(op, mine[r % 2], column, &row, &sum);
    __syncwarp();  // before the next copy into this half
  }
  if (row >= 0 && column < op.k) sum.add_to(op.c + std::int64_t{row} * op.k + column);
}

template <bool kWide, int kLanes>
void launch(const Operands& op, cudaStream_t stream) {
  constexpr int kStrip = kLanes * Piece<kWide>::kFloats;
  const std::int64_t shares = (std::int64_t{op.a.nnz} - 1) / kShare + 1;
  const dim3 grid(static_cast<unsigned>((shares - 1) / kWarps + 1), (op.k - 1) / kStrip + 1);
  spmm_buffered_kernel<kWide, kLanes><<<grid, kThreads, 0, stream>>>(op);
}

template <bool kWide>
void launch_width(const Operands& op, cudaStream_t stream) {
  const int vectors = (op.k - 1) / Piece<kWide>::kFloats + 1;
  if (vectors > 16) return launch<kWide, 32>(op, stream);
  if (vectors > 8) return launch<kWide, 16>(op, stream);
  launch<kWide, 8>(op, stream);
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (a.nnz > 0) {
    TRY(cudaMalloc(&made->rows, a.nnz * sizeof(int)));
    spmm_expand_rows_kernel<<<(a.nnz - 1) / 256 + 1, 256, 0, stream>>>(a, made->rows);
    TRY(cudaGetLastError());
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  TRY(cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), stream));
  if (a.nnz == 0) return cudaSuccess;
  const Operands op{a, plan->rows, b, c, k};
  k % 4 == 0 ? launch_width<true>(op, stream) : launch_width<false>(op, stream);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
