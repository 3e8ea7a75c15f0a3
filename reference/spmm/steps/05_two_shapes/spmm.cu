// SpMM, step 5: 64 non-zeros a block against one row a block, chosen by the mean row length.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major; any k is correct, strips have 32 or 256 columns.
// Work    2 * nnz * k flop.
// Cost    sparse: C is zeroed, and a run of entries of one row in a block costs an atomic addition a column;
//         dense: no atomics, no zeroing, one reduction over the block's slots a row.
// Idea    Where rows are short, blocks own equal numbers of non-zeros and do not care where rows begin.
//         Where rows are long, a row fills a block by itself. 32 or 256 columns make that four modes; a
//         block has 256 threads: 8 slots of 32 columns or 1 of 256, each walking its share of the entries.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "warpgrade/spmm.h"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

struct SpmmPlan {
  bool sparse = false;
  int entry_blocks = 0;  // sparse: ceil(nnz / 64)
  int* block_first_row =
      nullptr;  // sparse: [entry_blocks + 1], the row of a block's first entry; last: rows - 1
  ~SpmmPlan() { cudaFree(block_first_row); }
};

namespace {

// Mean non-zeros a row under which the sparse mode wins, measured on an H200. With one slot of 256 columns a
// short row wastes fewer threads than with eight of 32, so the dense mode wins earlier.
constexpr int sparse_below(int k) {
  return k < 256 ? 32 : 8;
}

template <int kColumns_>
struct Tile {
  static constexpr int kThreads = 256;
  static constexpr int kColumns = kColumns_;          // columns of a strip, one a thread of a slot
  static constexpr int kSlots = kThreads / kColumns;  // walkers a block
  static constexpr int kEntries = 64;                 // sparse: non-zeros a block
  static constexpr int kSlotEntries = kEntries / kSlots;
  static constexpr int kBatch = 256;  // dense: entries staged at a time
  static_assert(kColumns % 32 == 0 && kThreads % kColumns == 0, "a slot is a whole number of warps");
  static_assert(kEntries % kSlots == 0 && kEntries <= kThreads, "slots share a block's entries evenly");
};

// The last row whose first entry is at or before `entry`, in [low, high].
__device__ int row_of_entry(const int* row_offsets, int low, int high, int entry) {
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (row_offsets[middle] <= entry) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__global__ void spmm_find_first_rows_kernel(int rows, int entry_blocks, int entries_per_block,
                                            const int* __restrict__ row_offsets, int* block_first_row) {
  const int block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block < entry_blocks) {
    block_first_row[block] = row_of_entry(row_offsets, 0, rows - 1, block * entries_per_block);
  } else if (block == entry_blocks) {
    block_first_row[block] = rows - 1;
  }
}

// Grid: x = 64-entry blocks, y = strips.
template <typename T>
__global__ void spmm_entries_per_block_kernel(int nnz, int k, const int* __restrict__ row_offsets,
                                              const int* __restrict__ columns,
                                              const float* __restrict__ values,
                                              const int* __restrict__ block_first_row,
                                              const float* __restrict__ b,  // [n, k]
                                              float* __restrict__ c) {      // [m, k], zeroed
  __shared__ int rows_of[T::kEntries], columns_of[T::kEntries];
  __shared__ float values_of[T::kEntries];
  const int first = blockIdx.x * T::kEntries, count = min(T::kEntries, nnz - first), thread = threadIdx.x;
  if (thread < count) {
    columns_of[thread] = columns[first + thread];
    values_of[thread] = values[first + thread];
    rows_of[thread] = row_of_entry(row_offsets, block_first_row[blockIdx.x], block_first_row[blockIdx.x + 1],
                                   first + thread);
  }
  __syncthreads();
  const int slot = thread / T::kColumns;
  const int begin = min(slot * T::kSlotEntries, count), end = min(begin + T::kSlotEntries, count);
  for (int strip = blockIdx.y; strip * T::kColumns < k; strip += gridDim.y) {
    const int column = strip * T::kColumns + thread % T::kColumns;
    if (column >= k || begin == end) continue;
    float sum = 0.0f;
#pragma unroll 4
    for (int i = begin; i < end; ++i) {
      sum += values_of[i] * b[static_cast<std::int64_t>(columns_of[i]) * k + column];
      if (i + 1 == end || rows_of[i + 1] != rows_of[i]) {
        atomicAdd(&c[static_cast<std::int64_t>(rows_of[i]) * k + column], sum);
        sum = 0.0f;
      }
    }
  }
}

// Grid: x = rows, y = strips.
template <typename T>
__global__ void spmm_row_per_block_kernel(int k, const int* __restrict__ row_offsets,
                                          const int* __restrict__ columns, const float* __restrict__ values,
                                          const float* __restrict__ b,  // [n, k]
                                          float* __restrict__ c) {      // [m, k]
  __shared__ int staged_columns[T::kBatch];
  __shared__ float staged_values[T::kBatch];
  __shared__ float slot_sums[T::kSlots][T::kColumns];
  const std::int64_t row = blockIdx.x;
  const int begin = row_offsets[row], end = row_offsets[row + 1], thread = threadIdx.x;
  const int slot = thread / T::kColumns, slot_column = thread % T::kColumns;
  for (int strip = blockIdx.y; strip * T::kColumns < k; strip += gridDim.y) {
    const int column = strip * T::kColumns + slot_column;
    const float* b_column = b + min(column, k - 1);  // threads past the edge load what they will not store
    float sum = 0.0f;
    for (int base = begin; base < end; base += T::kBatch) {
      const int count = min(T::kBatch, end - base);
      if (thread < count) {
        staged_columns[thread] = columns[base + thread];
        staged_values[thread] = values[base + thread];
      }
      __syncthreads();
#pragma unroll 4
      for (int i = slot; i < count; i += T::kSlots) {
        sum += staged_values[i] * b_column[static_cast<std::int64_t>(staged_columns[i]) * k];
      }
      __syncthreads();
    }
    slot_sums[slot][slot_column] = sum;
    __syncthreads();
    if (slot == 0 && column < k) {
      for (int s = 1; s < T::kSlots; ++s) sum += slot_sums[s][slot_column];
      c[row * k + column] = sum;
    }
    __syncthreads();
  }
}

template <typename T>
cudaError_t launch(const CsrMatrix& a, int k, const float* b, float* c, const SpmmPlan& plan,
                   cudaStream_t stream) {
  const unsigned strips = std::min((static_cast<unsigned>(k) + T::kColumns - 1) / T::kColumns, 65535u);
  if (plan.sparse) {
    TRY(cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), stream));
    if (a.nnz == 0) return cudaSuccess;
    const dim3 grid(plan.entry_blocks, strips);
    spmm_entries_per_block_kernel<T><<<grid, T::kThreads, 0, stream>>>(a.nnz, k, a.row_offsets, a.columns,
                                                                       a.values, plan.block_first_row, b, c);
  } else {
    const dim3 grid(a.rows, strips);
    spmm_row_per_block_kernel<T>
        <<<grid, T::kThreads, 0, stream>>>(k, a.row_offsets, a.columns, a.values, b, c);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  made->sparse = a.nnz < static_cast<std::int64_t>(sparse_below(k)) * a.rows;
  if (made->sparse && a.nnz > 0) {
    constexpr int kEntries = Tile<32>::kEntries, kThreads = 256;
    static_assert(kEntries == Tile<256>::kEntries, "one list serves both widths");
    made->entry_blocks = (a.nnz - 1) / kEntries + 1;
    TRY(cudaMalloc(&made->block_first_row, (static_cast<std::size_t>(made->entry_blocks) + 1) * sizeof(int)));
    spmm_find_first_rows_kernel<<<made->entry_blocks / kThreads + 1, kThreads, 0, stream>>>(
        a.rows, made->entry_blocks, kEntries, a.row_offsets, made->block_first_row);
    TRY(cudaGetLastError());
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  return k < 256 ? launch<Tile<32>>(a, k, b, c, *plan, stream) : launch<Tile<256>>(a, k, b, c, *plan, stream);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
