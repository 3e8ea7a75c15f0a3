// The mask of the lanes with work is computed once, though lanes leave the loop one by one.
#include <cuda_runtime.h>

__global__ void drain(int* work, int* out) {
  int left = threadIdx.x;
  unsigned mask = __ballot_sync(0xffffffff, left > 0);
  int any = 0;
  while (left > 0) {
#ifdef FIXED
    mask = __activemask();
#endif
    any += __popc(__ballot_sync(mask, left & 1));  // MISTAKE: barrier_deadlock
    left -= 8;
  }
  __syncthreads();
  out[threadIdx.x] = any + work[0];
}

int main() {
  int *work, *out;
  cudaMalloc(&work, 4);
  cudaMalloc(&out, 128);
  cudaMemset(work, 0, 4);
  drain<<<1, 32>>>(work, out);
  cudaDeviceSynchronize();
  cudaFree(work);
  cudaFree(out);
  return 0;
}
