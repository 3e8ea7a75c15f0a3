// Every thread stores its own value into one shared variable.
#include <cuda_runtime.h>

__global__ void pick(const int* in, int* out) {
  __shared__ int chosen;
#ifdef FIXED
  if (threadIdx.x == 0)
#endif
    chosen = in[threadIdx.x];  // MISTAKE: shared_race
  __syncthreads();
  out[threadIdx.x] = chosen;
}

int main() {
  int host[64], *in, *out;
  for (int i = 0; i < 64; i++) host[i] = i;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  pick<<<1, 64>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
// CURE: Let one thread do it
