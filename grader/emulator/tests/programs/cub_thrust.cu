// CUB's block primitives and Thrust's algorithms, unmodified.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <cub/cub.cuh>

#include "check.h"

__global__ void block_primitives(const int* in, int* scanned, int* sums) {
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } storage;
  const int value = in[blockIdx.x * 128 + threadIdx.x];
  int before;
  Scan(storage.scan).ExclusiveSum(value, before);
  __syncthreads();
  const int sum = Reduce(storage.reduce).Sum(value);
  scanned[blockIdx.x * 128 + threadIdx.x] = before;
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

int main() {
  Managed<int> in(512), scanned(512), sums(4);
  for (int k = 0; k < 512; ++k) in[k] = int(bits_of(k, 1) % 100);
  block_primitives<<<4, 128>>>(in.data, scanned.data, sums.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < 4; ++b) {
    int running = 0;
    for (int t = 0; t < 128; ++t) {
      expect(scanned[b * 128 + t] == running, "BlockScan");
      running += in[b * 128 + t];
    }
    expect(sums[b] == running, "BlockReduce");
  }
  constexpr int n = 20000;
  thrust::host_vector<int> host(n);
  long long total = 0;
  for (int k = 0; k < n; ++k) total += host[k] = int(bits_of(k, 2) % 1000000);
  thrust::device_vector<int> device = host;
  expect(thrust::reduce(device.begin(), device.end(), 0ll) == total, "thrust::reduce");
  thrust::sort(device.begin(), device.end());
  const thrust::host_vector<int> sorted = device;
  std::sort(host.begin(), host.end());
  expect(std::equal(host.begin(), host.end(), sorted.begin()), "thrust::sort");
  return g_failures;
}
