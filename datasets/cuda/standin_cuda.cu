// Stand-ins on a GPU: the bytes of generate_standin (standin_core.h says what a row holds).
//
// A block takes a row. Rows of up to kSortedRow entries are drawn into shared memory in rounds, each
// sorted and freed of duplicates; longer ones mark their columns in a bitmap of n bits, one a resident
// block, in device memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "standin_core.h"
#include "standin_cuda.h"

namespace warpgrade::datasets {
namespace {

constexpr int kThreads = 128;
constexpr int kSortedRow = 1024;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("stand-in on the GPU: ") + what + ": " + cudaGetErrorString(status));
}

// Ascending, `size` a power of two (Batcher's bitonic network).
__device__ void sort_block(int* keys, int size) {
  for (int width = 2; width <= size; width *= 2) {
    for (int stride = width / 2; stride > 0; stride /= 2) {
      for (int i = threadIdx.x; i < size / 2; i += kThreads) {
        const int low = 2 * i - (i & (stride - 1)), high = low + stride;
        const bool ascending = (low & width) == 0;
        const int a = keys[low], b = keys[high];
        if ((a > b) == ascending) {
          keys[low] = b;
          keys[high] = a;
        }
      }
      __syncthreads();
    }
  }
}

// Sum of `value` over the threads before this one; `total` of all. A block-wide call.
__device__ int sum_before(int value, int* sums, int* total) {
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const int other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  const int before = sums[threadIdx.x] - value;
  *total = sums[kThreads - 1];
  __syncthreads();
  return before;
}

// Drops repeated keys of the sorted first `count`; how many are left. A thread owns a run of keys.
__device__ int drop_repeated(int* keys, int* spare, int* sums, int count) {
  const int run = (count + kThreads - 1) / kThreads;
  const int begin = min(count, static_cast<int>(threadIdx.x) * run), end = min(count, begin + run);
  int kept = 0, total = 0;
  for (int i = begin; i < end; ++i) kept += i == 0 || keys[i] != keys[i - 1] ? 1 : 0;
  int at = sum_before(kept, sums, &total);
  for (int i = begin; i < end; ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) spare[at++] = keys[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < total; i += kThreads) keys[i] = spare[i];
  __syncthreads();
  return total;
}

__device__ bool contains(const int* keys, int count, int key) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && keys[low] == key;
}

// Unused columns in turn from `column` on, by one thread: rows this full are rare.
__device__ void fill_sorted(const StandInTables& t, int* keys, int have, int length, int column) {
  const int sorted = have;
  for (; have < length; column = column + 1 == t.n ? 0 : column + 1) {
    if (!contains(keys, sorted, column)) keys[have++] = column;
  }
}

struct SortedRow {
  int keys[kSortedRow], spare[kSortedRow], sums[kThreads];
};

__device__ void draw_sorted(const StandInTables& t, int row, int length, SortedRow& s, int* columns) {
  const u64 key = standin::row_key(t, row);
  int have = 0, size = 1;
  while (size < length) size *= 2;
  u64 counter = 0;
  for (int round = 0; round < kRounds && have < length; ++round) {
    for (int i = have + static_cast<int>(threadIdx.x); i < size; i += kThreads)
      s.keys[i] = i < length ? standin::draw_column(t, row, key, round, counter + static_cast<u64>(i - have))
                             : INT32_MAX;
    counter += static_cast<u64>(length - have);
    __syncthreads();
    sort_block(s.keys, size);
    have = drop_repeated(s.keys, s.spare, s.sums, length);
  }
  if (have < length) {
    if (threadIdx.x == 0) fill_sorted(t, s.keys, have, length, standin::fill_from(t, key, counter));
    for (int i = length + static_cast<int>(threadIdx.x); i < size; i += kThreads) s.keys[i] = INT32_MAX;
    __syncthreads();
    sort_block(s.keys, size);
  }
  for (int i = threadIdx.x; i < length; i += kThreads) columns[i] = s.keys[i];
  __syncthreads();
}

// 1 where the column was not in the bitmap before.
__device__ int take(unsigned* bitmap, int column) {
  const unsigned bit = 1u << (column & 31);
  return (atomicOr(&bitmap[column >> 5], bit) & bit) == 0 ? 1 : 0;
}

__device__ void draw_marked(const StandInTables& t, int row, int length, unsigned* bitmap, int* sums,
                            int* columns) {
  const u64 key = standin::row_key(t, row);
  const int words = (t.n + 31) / 32;
  int have = 0;
  u64 counter = 0;
  for (int round = 0; round < kRounds && have < length; ++round) {
    int taken = 0, total = 0;
    for (int i = threadIdx.x; i < length - have; i += kThreads)
      taken += take(bitmap, standin::draw_column(t, row, key, round, counter + static_cast<u64>(i)));
    counter += static_cast<u64>(length - have);
    sum_before(taken, sums, &total);
    have += total;
  }
  if (have < length && threadIdx.x == 0) {
    for (int column = standin::fill_from(t, key, counter); have < length;
         column = column + 1 == t.n ? 0 : column + 1)
      have += take(bitmap, column);
  }
  __syncthreads();
  // The bitmap read in order, cleared for the next row: a tile of words a thread each, then the next tile.
  int out = 0;
  for (int first = 0; first < words; first += kThreads) {
    const int at = first + static_cast<int>(threadIdx.x);
    unsigned word = at < words ? bitmap[at] : 0;
    if (word != 0) bitmap[at] = 0;
    int total = 0;
    int place = out + sum_before(__popc(word), sums, &total);
    for (; word != 0; word &= word - 1) columns[place++] = at * 32 + __ffs(static_cast<int>(word)) - 1;
    out += total;
  }
  __syncthreads();
}

__global__ void draw_rows_kernel(StandInTables t, unsigned* bitmaps,  // [gridDim.x, words of n bits], zeroed
                                 int* columns) {                      // [nnz]
  __shared__ SortedRow shared;
  unsigned* bitmap = bitmaps + static_cast<std::size_t>(blockIdx.x) * ((t.n + 31) / 32);
  for (int row = blockIdx.x; row < t.n; row += gridDim.x) {
    const int begin = t.row_offsets[row], length = t.row_offsets[row + 1] - begin;
    if (length <= kSortedRow)
      draw_sorted(t, row, length, shared, columns + begin);
    else
      draw_marked(t, row, length, bitmap, shared.sums, columns + begin);
  }
}

__global__ void draw_values_kernel(u64 seed, std::int64_t nnz, float* values) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < nnz; i += step)
    values[i] = draw_value(seed, static_cast<u64>(i));
}

// Device memory that is freed whatever happens.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) {
    check(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc");
  }
  DeviceArray(const T* from, std::size_t count) : DeviceArray(count) {
    if (count > 0) check(cudaMemcpy(data_, from, count * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace

void draw_on_gpu(const StandInTables& tables, int* columns, float* values) {
  StandInTables t = tables;
  const auto n = static_cast<std::size_t>(t.n);
  const auto nnz = static_cast<std::size_t>(t.row_offsets[n]);
  const DeviceArray<int> offsets(t.row_offsets, n + 1), guide(t.guide, (std::size_t{1} << kGuideBits) + 1);
  const DeviceArray<u64> by_id(t.by_id, n + 1), by_place(t.by_place, t.place_of != nullptr ? n + 1 : 0);
  const DeviceArray<int> place_of(t.place_of, t.place_of != nullptr ? n : 0);
  const DeviceArray<int> id_at(t.id_at, t.id_at != nullptr ? n : 0);
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "no device");
  const int blocks = std::min(t.n, 8 * multiprocessors);
  const DeviceArray<int> device_columns(nnz);
  const DeviceArray<float> device_values(nnz);
  const std::size_t words = static_cast<std::size_t>(blocks) * ((n + 31) / 32);
  const DeviceArray<unsigned> bitmaps(words);
  check(cudaMemset(bitmaps.get(), 0, words * sizeof(unsigned)), "cudaMemset");
  t.row_offsets = offsets.get();
  t.guide = guide.get();
  t.by_id = by_id.get();
  t.by_place = t.place_of != nullptr ? by_place.get() : by_id.get();
  t.place_of = t.place_of != nullptr ? place_of.get() : nullptr;
  t.id_at = t.id_at != nullptr ? id_at.get() : nullptr;
  draw_rows_kernel<<<blocks, kThreads>>>(t, bitmaps.get(), device_columns.get());
  check(cudaGetLastError(), "drawing rows");
  draw_values_kernel<<<4 * multiprocessors, 256>>>(t.seed, static_cast<std::int64_t>(nnz),
                                                   device_values.get());
  check(cudaGetLastError(), "drawing values");
  if (nnz == 0) return;
  check(cudaMemcpy(columns, device_columns.get(), nnz * sizeof(int), cudaMemcpyDeviceToHost), "drawing rows");
  check(cudaMemcpy(values, device_values.get(), nnz * sizeof(float), cudaMemcpyDeviceToHost),
        "drawing values");
}

}  // namespace warpgrade::datasets
