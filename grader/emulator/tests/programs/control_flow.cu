// Divergence and reconvergence: nested conditions, loops of different lengths, switches, early returns,
// breaks.
#include "check.h"

__host__ __device__ int collatz(int n) {
  int steps = 0;
  while (n != 1 && steps < 200) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  return steps;
}

__host__ __device__ int nested(int i) {
  int sum = 0;
  for (int a = 0; a < i % 7; ++a) {
    if (a == 3 && i % 2) continue;
    for (int b = a; b < i % 5 + a; ++b) {
      if (b == 6) break;
      sum += a * 10 + b;
      if (sum > 90) return -sum;
    }
  }
  return sum;
}

__host__ __device__ int dispatch(int i) {
  switch (i % 12) {
    case 0:
      return i;
    case 1:
      return i * 2;
    case 2:
      return -i;
    case 3:
      return i ^ 0x55;
    case 4:
      return collatz(i);
    case 5:
      return i / 3;
    case 6:
      return i << 2;
    case 7:
      return 7;
    case 8:
      return i & 15;
    default:
      return nested(i);
  }
}

// After a divergent branch the lanes must meet again: every lane counts those present.
__global__ void count_present(int* present) {
  int x = threadIdx.x;
  if (x % 3 == 0) {
    x = collatz(x + 1);
  } else if (x % 3 == 1) {
    x += 5;
  }
  for (int k = 0; k < int(threadIdx.x) % 4; ++k) x += k;
  unsigned here = __activemask();
  present[threadIdx.x] = __popc(here) + (x < -1000);
}

int main() {
  compare_both<int>(
      "collatz", BOTH(int i) { return collatz(i + 1); });
  compare_both<int>(
      "nested", BOTH(int i) { return nested(i); });
  compare_both<int>(
      "dispatch", BOTH(int i) { return dispatch(i); });
  Managed<int> present(64);
  count_present<<<1, 64>>>(present.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(present[t] == 32, "all lanes meet after divergence");
  return g_failures;
}
