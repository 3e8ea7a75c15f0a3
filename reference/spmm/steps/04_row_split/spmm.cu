// SpMM, step 4: rows split into groups of at most SPLIT_SIZE non-zeros, which meet by atomic addition.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major; any k is correct.
// Work    2 * nnz * k flop, and one atomic addition a group and column.
// Cost    C is zeroed in every run (4 * m * k bytes) because atomics accumulate into it; the plan keeps
//         12 bytes a group: at most m + nnz / SPLIT_SIZE groups.
// Idea    A hub of 100,000 non-zeros no longer keeps one warp busy while the rest of the GPU waits: no warp
//         has more than SPLIT_SIZE entries. The GPU builds the list of groups: count a row, scan, fill.
// Sweep   -DSPMM_SPLIT_SIZE={32,64,128,256} -DSPMM_D={1,2,4} -DSPMM_C={1,2,4}
#include <algorithm>
#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <memory>
#include <new>

#include "warpgrade/spmm.h"

#ifndef SPMM_SPLIT_SIZE
#define SPMM_SPLIT_SIZE 128
#endif
#ifndef SPMM_D
#define SPMM_D 1
#endif
#ifndef SPMM_C
#define SPMM_C 4
#endif

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

struct SpmmPlan {
  int groups = 0;
  int* group_rows = nullptr;  // [groups]
  int* group_begins =
      nullptr;                // [groups], first entry; a group ends after SPLIT_SIZE entries or with its row
  int* group_ends = nullptr;  // [groups]
  ~SpmmPlan() {
    for (int* array : {group_rows, group_begins, group_ends}) cudaFree(array);
  }
};

namespace {

template <int kGroups_>
struct Tile {
  static constexpr int kLanes = 32;
  static constexpr int kGroups = kGroups_;           // groups of 32 columns a warp
  static constexpr int kColumns = kLanes * kGroups;  // columns of a strip
  static constexpr int kWarps = 8;                   // groups of non-zeros a block
  static constexpr int kBatch = kLanes * SPMM_D;     // entries staged at a time
  static constexpr int kSharedBytes = kWarps * kBatch * static_cast<int>(sizeof(int) + sizeof(float));
  static_assert(SPMM_D >= 1 && kSharedBytes <= 48 * 1024, "a staged batch must fit static shared memory");
  static_assert(kGroups >= 1 && kGroups <= 16, "one accumulator a group must fit registers");
};
constexpr int kSplitSize = SPMM_SPLIT_SIZE;
static_assert(kSplitSize >= 1, "a group has at least one non-zero");
constexpr int kPlanThreads = 256;

__host__ __device__ constexpr int groups_of(int row_length) {
  return (row_length + kSplitSize - 1) / kSplitSize;
}

__global__ void spmm_count_groups_kernel(int rows, const int* __restrict__ row_offsets, int* counts) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows) counts[row] = groups_of(row_offsets[row + 1] - row_offsets[row]);
}

__global__ void spmm_fill_groups_kernel(
    int rows, const int* __restrict__ row_offsets,
    const int* __restrict__ group_offsets,  // [rows], exclusive scan of counts
    int* group_rows, int* group_begins, int* group_ends) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int end = row_offsets[row + 1];
  int group = group_offsets[row];
  for (int begin = row_offsets[row]; begin < end; begin += kSplitSize, ++group) {
    group_rows[group] = static_cast<int>(row);
    group_begins[group] = begin;
    group_ends[group] = min(begin + kSplitSize, end);
  }
}

// Grid: x = ceil(groups / kWarps), y = strips of kColumns columns.
template <typename T>
__global__ void spmm_row_split_kernel(int groups, int k, const int* __restrict__ group_rows,
                                      const int* __restrict__ group_begins,
                                      const int* __restrict__ group_ends, const int* __restrict__ columns,
                                      const float* __restrict__ values,
                                      const float* __restrict__ b,  // [n, k]
                                      float* __restrict__ c) {      // [m, k], zeroed
  __shared__ int staged_columns[T::kWarps][T::kBatch];
  __shared__ float staged_values[T::kWarps][T::kBatch];
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * T::kWarps + threadIdx.y;
  if (group >= groups) return;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const std::int64_t row = group_rows[group];
  const int begin = group_begins[group], end = group_ends[group];
  for (int strip = blockIdx.y; strip * T::kColumns < k; strip += gridDim.y) {
    int column[T::kGroups];
    float sum[T::kGroups];
    for (int g = 0; g < T::kGroups; ++g) {
      column[g] =
          min(strip * T::kColumns + g * T::kLanes + lane, k - 1);  // edge lanes load what they will not store
      sum[g] = 0.0f;
    }
    for (int base = begin; base < end; base += T::kBatch) {
      const int count = min(T::kBatch, end - base);
      for (int i = lane; i < count; i += T::kLanes) {
        staged_columns[warp][i] = columns[base + i];
        staged_values[warp][i] = values[base + i];
      }
      __syncwarp();
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        const float* b_row = b + static_cast<std::int64_t>(staged_columns[warp][i]) * k;
        for (int g = 0; g < T::kGroups; ++g) sum[g] += staged_values[warp][i] * b_row[column[g]];
      }
      __syncwarp();
    }
    for (int g = 0; g < T::kGroups; ++g) {
      if (strip * T::kColumns + g * T::kLanes + lane < k) atomicAdd(&c[row * k + column[g]], sum[g]);
    }
  }
}

// Device memory that lives as long as a scope of spmm_plan.
struct Scratch {
  void* data = nullptr;
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { cudaFree(data); }
  int* ints() const { return static_cast<int*>(data); }
};

cudaError_t build(const CsrMatrix& a, SpmmPlan* plan, cudaStream_t stream) {
  Scratch counts, offsets, work_space;  // counts has a last element 0, so that offsets[rows] is the total
  const std::size_t bytes = (static_cast<std::size_t>(a.rows) + 1) * sizeof(int);
  const unsigned blocks = (static_cast<unsigned>(a.rows) + kPlanThreads - 1) / kPlanThreads;
  TRY(cudaMalloc(&counts.data, bytes));
  TRY(cudaMalloc(&offsets.data, bytes));
  TRY(cudaMemsetAsync(counts.data, 0, bytes, stream));
  spmm_count_groups_kernel<<<blocks, kPlanThreads, 0, stream>>>(a.rows, a.row_offsets, counts.ints());
  TRY(cudaGetLastError());
  std::size_t scan_bytes = 0;
  TRY(cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, counts.ints(), offsets.ints(), a.rows + 1, stream));
  TRY(cudaMalloc(&work_space.data, scan_bytes));
  TRY(cub::DeviceScan::ExclusiveSum(work_space.data, scan_bytes, counts.ints(), offsets.ints(), a.rows + 1,
                                    stream));
  TRY(cudaMemcpyAsync(&plan->groups, offsets.ints() + a.rows, sizeof(int), cudaMemcpyDeviceToHost, stream));
  TRY(cudaStreamSynchronize(stream));
  const std::size_t list_bytes = std::max<std::size_t>(plan->groups, 1) * sizeof(int);
  for (int** list : {&plan->group_rows, &plan->group_begins, &plan->group_ends})
    TRY(cudaMalloc(list, list_bytes));
  spmm_fill_groups_kernel<<<blocks, kPlanThreads, 0, stream>>>(
      a.rows, a.row_offsets, offsets.ints(), plan->group_rows, plan->group_begins, plan->group_ends);
  TRY(cudaGetLastError());
  return cudaStreamSynchronize(stream);  // the scratch is freed on return
}

template <typename T>
cudaError_t launch(const CsrMatrix& a, int k, const float* b, float* c, const SpmmPlan& plan,
                   cudaStream_t stream) {
  const unsigned blocks = (static_cast<unsigned>(plan.groups) + T::kWarps - 1) / T::kWarps;
  const unsigned strips = (static_cast<unsigned>(k) + T::kColumns - 1) / T::kColumns;
  const dim3 grid(blocks, std::min(strips, 65535u)), block(T::kLanes, T::kWarps);
  spmm_row_split_kernel<T><<<grid, block, 0, stream>>>(plan.groups, k, plan.group_rows, plan.group_begins,
                                                       plan.group_ends, a.columns, a.values, b, c);
  return cudaGetLastError();
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (a.rows > 0) TRY(build(a, made.get(), stream));
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  TRY(cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), stream));
  if (plan->groups == 0) return cudaSuccess;
  return k > 32 ? launch<Tile<SPMM_C>>(a, k, b, c, *plan, stream)
                : launch<Tile<1>>(a, k, b, c, *plan, stream);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
