// libcu++: atomics with scopes and orders, and the standard library's types.
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/tuple>

#include "check.h"

__global__ void atomics(int* counters, int* order) {
  cuda::atomic_ref<int, cuda::thread_scope_device> total(counters[0]);
  cuda::atomic_ref<int, cuda::thread_scope_device> largest(counters[1]);
  total.fetch_add(int(threadIdx.x), cuda::std::memory_order_relaxed);
  largest.fetch_max(int(threadIdx.x + blockIdx.x), cuda::std::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device> next(counters[2]);
  int seen = next.load(cuda::std::memory_order_acquire);
  while (!next.compare_exchange_weak(seen, seen + 1, cuda::std::memory_order_acq_rel)) {
  }
  order[seen] = 1;
}

__global__ void standard_types(int* out) {
  cuda::std::array<int, 4> a{1, 2, 3, 4};
  const auto t = cuda::std::make_tuple(a[threadIdx.x % 4], threadIdx.x);
  cuda::std::optional<int> o;
  if (threadIdx.x % 2) o = cuda::std::get<0>(t);
  out[threadIdx.x] = o.value_or(-1);
}

int main() {
  Managed<int> counters(3), order(1024), out(128);
  atomics<<<8, 128>>>(counters.data, order.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(counters[0] == 8 * 128 * 127 / 2 && counters[1] == 134 && counters[2] == 1024, "cuda::atomic_ref");
  for (int k = 0; k < 1024; ++k) expect(order[size_t(k)] == 1, "compare_exchange gives each its turn");
  standard_types<<<1, 128>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 128; ++k) expect(out[size_t(k)] == (k % 2 ? k % 4 + 1 : -1), "cuda::std types");
  return g_failures;
}
