// Thrust's algorithms on device vectors, against the standard library's on the host.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

#include "check.h"

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};

template <class T>
bool equal(const thrust::device_vector<T>& device, const std::vector<T>& host) {
  const thrust::host_vector<T> back = device;
  return back.size() == host.size() && std::equal(host.begin(), host.end(), back.begin());
}

int main() {
  constexpr int n = 10007;
  std::vector<int> values(n), keys(n), expected(n);
  for (int k = 0; k < n; ++k) {
    values[k] = int(bits_of(k, 3) % 1000);
    keys[k] = int(bits_of(k, 4) % 5000);
  }
  const thrust::device_vector<int> in(values.begin(), values.end());
  thrust::device_vector<int> out(n);

  thrust::transform(in.begin(), in.end(), out.begin(), Square());
  std::transform(values.begin(), values.end(), expected.begin(), Square());
  expect(equal(out, expected), "thrust::transform");

  thrust::inclusive_scan(in.begin(), in.end(), out.begin());
  std::partial_sum(values.begin(), values.end(), expected.begin());
  expect(equal(out, expected), "thrust::inclusive_scan");
  expect(thrust::reduce(in.begin(), in.end(), 0, thrust::maximum<int>()) ==
             *std::max_element(values.begin(), values.end()),
         "thrust::reduce with a maximum");

  thrust::device_vector<int> device_keys(keys.begin(), keys.end());
  thrust::device_vector<int> order(n);
  thrust::sequence(order.begin(), order.end());
  thrust::stable_sort_by_key(device_keys.begin(), device_keys.end(), order.begin());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  expect(equal(order, expected), "thrust::stable_sort_by_key");

  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  device_keys.erase(thrust::unique(device_keys.begin(), device_keys.end()), device_keys.end());
  expect(equal(device_keys, keys), "thrust::unique");
  return g_failures;
}
