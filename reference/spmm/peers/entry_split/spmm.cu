// SpMM, a peer: every group of lanes takes the same number of consecutive entries, whatever rows they
// belong to.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32; any k >= 1.
// Idea    A group of 8, 16 or 32 lanes reads a row of B with one load of 16 bytes a lane and walks kShare
// entries; at a
//         row's end it stores the sum and goes on with the next row. So all groups end together. A row that
//         lies in several groups has a partial sum in each; who arrives last adds them up, in the order of
//         the row: no atomics on C, no zeroing, the same bits in every run. The slots of the partial sums
//         follow from the groups' numbers: a group has at most one row that began before it (its head) and
//         one that goes on after it (its tail).
// Cost    The plan keeps 4 bytes a group and 8 * k bytes of partial sums a group. A row in g groups costs
// g partial sums,
//         which one group adds up: rows of many thousand entries wait for it.
// In the manner of merge-spmm's and HP-SpMM's splits by entries; written for this bench.
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

// For sweeps: entries a group takes, and the widest group's lanes.
#ifndef SPMM_SHARE
#define SPMM_SHARE 64
#endif
#ifndef SPMM_WIDEST
#define SPMM_WIDEST 32
#endif

namespace {

constexpr int kWarpLanes = 32, kWarps = 4, kThreads = kWarps * kWarpLanes, kShare = SPMM_SHARE, kInFlight = 4;
static_assert(kShare % kWarpLanes == 0, "a share is whole rounds of every group");

}  // namespace

struct SpmmPlan {
  int groups = 0;
  int* first_rows = nullptr;  // [groups], the row of each group's first entry
  float* sums = nullptr;      // [groups, 2, pitch]: heads and tails
  unsigned* arrivals =
      nullptr;  // [strips, groups], at the group in which a row begins; zero between launches
  int pitch = 0;
  ~SpmmPlan() {
    cudaFree(first_rows);
    cudaFree(sums);
    cudaFree(arrivals);
  }
};

namespace {

// The row of each group's first entry: the last row that begins at or before it and is not empty.
__global__ void spmm_first_rows_kernel(CsrMatrix a, int groups, int* first_rows) {
  const int g = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (g >= groups) return;
  const std::int64_t at = std::int64_t{g} * kShare;
  int low = 0, high = a.rows;  // row_offsets[low] <= at < row_offsets[high]
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (a.row_offsets[middle] <= at ? low : high) = middle;
  }
  first_rows[g] = low;
}

struct Operands {
  CsrMatrix a;
  const float* b;
  float* c;
  int k, groups, pitch;
  const int* first_rows;
  float* sums;
  unsigned* arrivals;
};

// 16 bytes a lane, or 4 where k is no multiple of 4.
template <bool kWide>
struct Piece;
template <>
struct Piece<true> {
  static constexpr int kFloats = 4;
  float4 x{0.0f, 0.0f, 0.0f, 0.0f};
  __device__ static Piece load(const float* from) { return {__ldg(reinterpret_cast<const float4*>(from))}; }
  __device__ static Piece load_uncached(const float* from) {
    return {__ldcg(reinterpret_cast<const float4*>(from))};
  }
  __device__ void store(float* to) const { __stcs(reinterpret_cast<float4*>(to), x); }
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
  __device__ static Piece load_uncached(const float* from) { return {__ldcg(from)}; }
  __device__ void store(float* to) const { __stcs(to, x); }
  __device__ void add_scaled(float a, const Piece& other) { x = fmaf(a, other.x, x); }
};

// A group on its way along its entries.
template <bool kWide, int kLanes>
struct Walk {
  const Operands& op;
  const int group, lane, column;
  const bool stores;
  int row, row_end, next_end, begin, end;
  bool began_before;
  Piece<kWide> sum;

  __device__ Walk(const Operands& operands, int number, int column_of_lane)
      : op(operands),
        group(number),
        lane(static_cast<int>(threadIdx.x) % kLanes),
        column(column_of_lane),
        stores(number < operands.groups && column_of_lane < operands.k) {
    const bool exists = group < op.groups;
    begin = exists ? group * kShare : op.a.nnz;
    end = exists ? static_cast<int>(min(std::int64_t{begin} + kShare, std::int64_t{op.a.nnz})) : begin;
    row = exists ? op.first_rows[group] : op.a.rows - 1;
    row_end = op.a.row_offsets[row + 1];
    next_end = op.a.row_offsets[min(row + 2, op.a.rows)];
    began_before = op.a.row_offsets[row] < begin;
    if (group == 0 && exists) store_zeros(0, row);  // empty rows before the first entry
  }

  __device__ unsigned members() const {
    return kLanes == kWarpLanes ? ~0u : ((1u << kLanes) - 1u) << (threadIdx.x % kWarpLanes / kLanes * kLanes);
  }
  __device__ float* slot(int of_group, bool tail) const {
    return op.sums + (std::int64_t{of_group} * 2 + (tail ? 1 : 0)) * op.pitch + column;
  }
  __device__ void store_zeros(int from, int to) const {
    for (int r = from; stores && r < to; ++r) Piece<kWide>{}.store(op.c + std::int64_t{r} * op.k + column);
  }

  // Publishes what this group has of the row [row_begin, row_end); the last group to arrive stores the row.
  __device__ void publish(int row_begin, bool tail) {
    const int first = row_begin / kShare, parts = (row_end - 1) / kShare - first + 1;
    if (stores) sum.store(slot(group, tail));
    __syncwarp(members());
    unsigned before = 0;
    if (lane == 0) {
      unsigned* const arrivals = op.arrivals + std::int64_t{blockIdx.y} * op.groups + first;
      asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrivals) : "memory");
      if (before + 1 == static_cast<unsigned>(parts)) *arrivals = 0;  // ready for the next launch
    }
    before = __shfl_sync(members(), before, 0, kLanes);
    if (before + 1 != static_cast<unsigned>(parts)) return;
    __threadfence();  // acquires the other parts' sums
    if (!stores) return;
    sum = Piece<kWide>::load_uncached(slot(first, true));
    for (int part = 1; part < parts; ++part)
      sum.add_scaled(1.0f, Piece<kWide>::load_uncached(slot(first + part, false)));
    sum.store(op.c + std::int64_t{row} * op.k + column);
  }

  // The row's last entry has been added: stores it, and the empty rows behind it.
  __device__ void finish_row() {
    if (began_before) {
      publish(op.a.row_offsets[row], false);
    } else if (stores) {
      sum.store(op.c + std::int64_t{row} * op.k + column);
    }
    sum = {};
    began_before = false;
    const int ended = row_end;
    do {
      ++row;
      row_end = next_end;
      next_end = op.a.row_offsets[min(row + 2, op.a.rows)];
      if (row < op.a.rows && row_end == ended) store_zeros(row, row + 1);
    } while (row < op.a.rows && row_end == ended);
  }

  __device__ void walk() {
    const float* const b = op.b + (column < op.k ? column : 0);
    for (int from = 0; from < kShare; from += kLanes) {
      const int mine = begin + from + lane;
      int entry_column = 0;
      float entry_value = 0.0f;
      if (mine < end) {
        entry_column = __ldcs(op.a.columns + mine);
        entry_value = __ldcs(op.a.values + mine);
      }
      for (int j = 0; j < kLanes; j += kInFlight) {
        Piece<kWide> rows_of_b[kInFlight];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          const std::int64_t b_row = __shfl_sync(~0u, entry_column, j + u, kLanes);
          rows_of_b[u] = Piece<kWide>::load(b + b_row * op.k);
        }
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          const float value = __shfl_sync(~0u, entry_value, j + u, kLanes);
          const int at = begin + from + j + u;
          if (at < end) {
            sum.add_scaled(value, rows_of_b[u]);
            if (at + 1 == row_end) finish_row();
          }
          __syncwarp();
        }
      }
    }
    if (group < op.groups && row < op.a.rows && end < row_end) {  // the row goes on in the next group
      const int row_begin = op.a.row_offsets[row];
      if (began_before || row_begin < end) publish(row_begin, !began_before);
    }
  }
};

// Grid: x = blocks of groups, y = strips of kLanes vectors.
template <bool kWide, int kLanes>
__global__ void __launch_bounds__(kThreads) spmm_entries_kernel(Operands op) {
  const int group = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / kLanes);
  const int column = static_cast<int>(blockIdx.y * kLanes + threadIdx.x % kLanes) * Piece<kWide>::kFloats;
  Walk<kWide, kLanes>(op, group, column).walk();
}

// C of a matrix without entries.
cudaError_t store_zeros(const CsrMatrix& a, int k, float* c, cudaStream_t stream) {
  return cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), stream);
}

template <bool kWide, int kLanes>
void launch(const Operands& op, cudaStream_t stream) {
  constexpr int kStrip = kLanes * Piece<kWide>::kFloats, kGroups = kThreads / kLanes;
  const dim3 grid((op.groups - 1) / kGroups + 1, (op.k - 1) / kStrip + 1);
  spmm_entries_kernel<kWide, kLanes><<<grid, kThreads, 0, stream>>>(op);
}

template <bool kWide>
void launch_width(const Operands& op, cudaStream_t stream) {
  const int vectors = (op.k - 1) / Piece<kWide>::kFloats + 1;
  if (vectors > 16 && SPMM_WIDEST >= 32) return launch<kWide, 32>(op, stream);
  if (vectors > 8 && SPMM_WIDEST >= 16) return launch<kWide, 16>(op, stream);
  launch<kWide, 8>(op, stream);
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (a.nnz > 0) {
    constexpr int kNarrowest = 8;  // lanes of the narrowest group: the most strips there may be
    const std::size_t strips = (k - 1) / kNarrowest + 1;
    made->groups = (a.nnz - 1) / kShare + 1;
    made->pitch = (k + 3) / 4 * 4;
    TRY(cudaMalloc(&made->first_rows, made->groups * sizeof(int)));
    TRY(cudaMalloc(&made->sums, std::size_t{2} * made->groups * made->pitch * sizeof(float)));
    TRY(cudaMalloc(&made->arrivals, strips * made->groups * sizeof(unsigned)));
    TRY(cudaMemsetAsync(made->arrivals, 0, strips * made->groups * sizeof(unsigned), stream));
    spmm_first_rows_kernel<<<(made->groups - 1) / 256 + 1, 256, 0, stream>>>(a, made->groups,
                                                                             made->first_rows);
    TRY(cudaGetLastError());
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  if (a.nnz == 0) return store_zeros(a, k, c, stream);
  const Operands op{a, b, c, k, plan->groups, plan->pitch, plan->first_rows, plan->sums, plan->arrivals};
  k % 4 == 0 ? launch_width<true>(op, stream) : launch_width<false>(op, stream);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
