// cuRAND's device API, bit for bit as the same header computes on the host.
#define QUALIFIERS static inline __host__ __device__  // the generators, for both sides
#include <curand_kernel.h>

#include "check.h"

template <class State>
struct Drawn {
  unsigned bits[8];
  float uniform;
};

template <class State>
__host__ __device__ Drawn<State> draw(int i) {
  State state;
  curand_init(1234ull + unsigned(i) % 5, static_cast<unsigned long long>(i), 7ull, &state);
  Drawn<State> d{};
  for (unsigned& b : d.bits) b = curand(&state);
  d.uniform = curand_uniform(&state);
  return d;
}

template <class State>
__global__ void draw_kernel(Drawn<State>* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = draw<State>(i);
}

template <class State>
void check_generator(const char* name, int n) {
  Managed<Drawn<State>> out{size_t(n)};
  draw_kernel<State><<<(n + 63) / 64, 64>>>(out.data, n);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) {
    const Drawn<State> want = draw<State>(i);
    if (std::memcmp(&want, &out[size_t(i)], sizeof want) == 0) continue;
    expect(false, name);
    return;
  }
}

// Sobol' with the directions of the first dimension, which are powers of two: the second number after an
// offset i is the reflected Gray code of i + 1.
__device__ unsigned second_sobol(int i) {
  unsigned directions[32];
  for (int k = 0; k < 32; ++k) directions[k] = 1u << (31 - k);
  curandStateSobol32_t state;
  curand_init(directions, unsigned(i), &state);
  curand(&state);
  return curand(&state);
}

unsigned reflected_gray_code(unsigned n) {
  unsigned reflected = 0;
  for (unsigned k = 0, gray = n ^ n >> 1; k < 32; ++k) reflected |= (gray >> k & 1) << (31 - k);
  return reflected;
}

int main() {
  check_generator<curandStatePhilox4_32_10_t>("Philox", 500);
  check_generator<curandStateXORWOW_t>("XORWOW", 200);
  check_generator<curandStateMRG32k3a_t>("MRG32k3a", 200);
  compare<unsigned>(
      "Sobol'", [] __device__(int i) { return second_sobol(i); },
      [](int i) { return reflected_gray_code(unsigned(i) + 1); });
  return g_failures;
}
