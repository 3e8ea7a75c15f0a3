// CUB's primitives of a warp, a block and the device, against plain loops.
#include <algorithm>
#include <cub/block/block_radix_sort.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "check.h"

__global__ void warp_and_block(const int* in, int* sums, int* scanned, int* sorted) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[4];
  __shared__ typename Sort::TempStorage sort;
  const int warp = int(threadIdx.x) / 32, t = int(threadIdx.x);
  const int sum = Reduce(reduce[warp]).Sum(in[t]);
  if (t % 32 == 0) sums[warp] = sum;
  Scan(scan[warp]).InclusiveSum(in[t], scanned[t]);
  int keys[4];
  for (int k = 0; k < 4; ++k) keys[k] = in[t * 4 + k];
  Sort(sort).Sort(keys);
  for (int k = 0; k < 4; ++k) sorted[t * 4 + k] = keys[k];
}

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

// Asks an algorithm for its temporary storage, then runs it.
template <class Algorithm>
void with_storage(Algorithm algorithm) {
  size_t bytes = 0;
  void* storage = nullptr;
  CHECK_CUDA(algorithm(storage, bytes));
  CHECK_CUDA(cudaMalloc(&storage, bytes));
  CHECK_CUDA(algorithm(storage, bytes));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaFree(storage));
}

void check_warp_and_block(Managed<int>& in) {
  Managed<int> sums(4), scanned(128), sorted(512);
  warp_and_block<<<1, 128>>>(in.data, sums.data, scanned.data, sorted.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  std::vector<int> expected(in.data, in.data + 512);
  std::sort(expected.begin(), expected.end());
  expect(std::equal(expected.begin(), expected.end(), sorted.data), "BlockRadixSort");
  for (int w = 0; w < 4; ++w) {
    int running = 0;
    for (int l = 0; l < 32; ++l) {
      running += in[size_t(w * 32 + l)];
      expect(scanned[size_t(w * 32 + l)] == running, "WarpScan");
    }
    expect(sums[size_t(w)] == running, "WarpReduce");
  }
}

void check_device(Managed<int>& in, int n) {
  Managed<int> out{size_t(n)}, lengths{size_t(n)}, count{1}, histogram{8};
  const std::vector<int> values(in.data, in.data + n);
  with_storage([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, in.data, out.data, n); });
  int sum = 0;
  for (int v : values) sum += v;
  expect(out[0] == sum, "DeviceReduce");
  with_storage([&](void* s, size_t& b) { return cub::DeviceScan::ExclusiveSum(s, b, in.data, out.data, n); });
  int running = 0;
  for (int k = 0; k < n; running += values[size_t(k)], ++k) expect(out[size_t(k)] == running, "DeviceScan");
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceHistogram::HistogramEven(s, b, in.data, histogram.data, 9, 0, 64, n);
  });
  for (int bin = 0; bin < 8; ++bin) {
    const auto inside = [&](int v) { return v / 8 == bin; };
    expect(histogram[size_t(bin)] == std::count_if(values.begin(), values.end(), inside), "DeviceHistogram");
  }
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceSelect::If(s, b, in.data, out.data, count.data, n, IsOdd());
  });
  std::vector<int> odd;
  std::copy_if(values.begin(), values.end(), std::back_inserter(odd), IsOdd());
  expect(size_t(count[0]) == odd.size() && std::equal(odd.begin(), odd.end(), out.data), "DeviceSelect");
  with_storage(
      [&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, in.data, out.data, n); });
  std::vector<int> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  expect(std::equal(sorted.begin(), sorted.end(), out.data), "DeviceRadixSort");
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceRunLengthEncode::Encode(s, b, out.data, in.data, lengths.data, count.data, n);
  });
  int before = 0;
  for (int r = 0; r < count[0]; before += lengths[size_t(r)], ++r) {
    expect(sorted[size_t(before)] == in[size_t(r)], "DeviceRunLengthEncode");
  }
  expect(before == n, "DeviceRunLengthEncode covers all");
}

int main() {
  constexpr int n = 5003;
  Managed<int> in(n);
  for (int k = 0; k < n; ++k) in[size_t(k)] = int(bits_of(k, 5) % 64);
  check_warp_and_block(in);
  check_device(in, n);
  return g_failures;
}
