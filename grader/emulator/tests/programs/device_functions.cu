// Calls that are not inlined: scalars, structures and pointers as parameters, calls of calls, divergent
// calls.
#include "check.h"

struct Triple {
  int a;
  double b;
  short c;
};

__host__ __device__ __noinline__ int square_plus(int x, int y) {
  return x * x + y;
}
__host__ __device__ __noinline__ Triple make(int i) {
  return {i, i * 0.5, short(i * 3)};
}
__host__ __device__ __noinline__ double total(const Triple& t, float f) {
  return t.a + t.b + t.c + f;
}
__host__ __device__ __noinline__ int outer(int i) {
  return square_plus(i, 1) + square_plus(i + 1, 2) * 2;
}
__host__ __device__ __noinline__ void sort3(int* v) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int k = 0; k < 2; ++k) {
      if (v[k] > v[k + 1]) {
        const int t = v[k];
        v[k] = v[k + 1];
        v[k + 1] = t;
      }
    }
  }
}

// Lanes that call and lanes that do not must meet again behind the call.
__global__ void calls_converge(int* out) {
  int x = threadIdx.x;
  if (x % 2) x = outer(x);
  out[threadIdx.x] = __popc(__activemask()) * 1000000 + x;
}

int main() {
  compare_both<int>(
      "nested calls", BOTH(int i) { return outer(i); });
  compare_both<double>(
      "structures", BOTH(int i) { return total(make(i), 0.25f); });
  compare_both<int>(
      "divergent calls", BOTH(int i) { return i % 3 ? outer(i) : square_plus(i, i); });
  compare_both<int>(
      "pointers to local arrays", BOTH(int i) {
        int v[3] = {int(bits_of(i, 1) % 100), int(bits_of(i, 2) % 100), int(bits_of(i, 3) % 100)};
        sort3(v);
        return v[0] + 1000 * v[1] + 1000000 * v[2];
      });
  Managed<int> out(32);
  calls_converge<<<1, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t)
    expect(out[t] == 32000000 + (t % 2 ? outer(t) : t), "lanes meet behind a call");
  return g_failures;
}
