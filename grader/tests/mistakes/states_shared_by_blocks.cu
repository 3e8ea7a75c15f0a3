// Every block continues the same random generators.
#include <cuda_runtime.h>

__global__ void draw(unsigned* states, float* numbers) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  const int of = me;
#else
  const int of = threadIdx.x;
#endif
  unsigned state = states[of];
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  numbers[me] = state * 0x1p-32f;
  // CURE: does not name the block
  states[of] = state;  // MISTAKE: global_race
}

int main() {
  constexpr int kBlocks = 4, kThreads = 64;
  unsigned* states;
  float* numbers;
  cudaMalloc(&states, kBlocks * kThreads * sizeof(unsigned));
  cudaMalloc(&numbers, kBlocks * kThreads * sizeof(float));
  cudaMemset(states, 0x5a, kBlocks * kThreads * sizeof(unsigned));
  draw<<<kBlocks, kThreads>>>(states, numbers);
  cudaDeviceSynchronize();
  cudaFree(states);
  cudaFree(numbers);
  return 0;
}
