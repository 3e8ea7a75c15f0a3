// The block that comes last adds up what the others have written; no fence orders their writes and the count.
#include <cuda_runtime.h>

__device__ unsigned blocks_done = 0;

__global__ void longest_row(const int* lengths, int* of_block, int* longest) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    int most = 0;
    for (int i = 0; i < 32; ++i) most = max(most, lengths[blockIdx.x * 32 + i]);
    of_block[blockIdx.x] = most;
#ifdef FIXED
    __threadfence();
#endif
    is_last = atomicAdd(&blocks_done, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
#ifdef FIXED
  __threadfence();
#endif
  int most = 0;
  // CURE: __threadfence()
  for (unsigned b = 0; b < gridDim.x; ++b) most = max(most, of_block[b]);  // MISTAKE: global_race
  *longest = most;
}

int main() {
  constexpr int kBlocks = 12;
  int *lengths, *of_block, *longest;
  cudaMalloc(&lengths, kBlocks * 32 * sizeof(int));
  cudaMalloc(&of_block, kBlocks * sizeof(int));
  cudaMalloc(&longest, sizeof(int));
  cudaMemset(lengths, 1, kBlocks * 32 * sizeof(int));
  longest_row<<<kBlocks, 32>>>(lengths, of_block, longest);
  cudaDeviceSynchronize();
  cudaFree(lengths);
  cudaFree(of_block);
  cudaFree(longest);
  return 0;
}
