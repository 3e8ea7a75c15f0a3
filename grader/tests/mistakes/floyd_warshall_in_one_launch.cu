// All k in one launch: blocks race through the rounds, which only a new launch separates.
#include <cuda_runtime.h>

__global__ void relax(int* d, int n, int first, int last) {
  int i = blockIdx.x, j = threadIdx.x;
  for (int k = first; k < last; k++) {
    int through = d[i * n + k] + d[k * n + j];
#ifdef FIXED
    if (i != k && j != k && through < d[i * n + j]) d[i * n + j] = through;
#else
    if (through < d[i * n + j]) d[i * n + j] = through;  // MISTAKE: global_race
#endif
  }
}

int main() {
  const int n = 32;
  int host[n * n], *d;
  for (int i = 0; i < n * n; i++) host[i] = i / n == i % n ? 0 : 1 + (i * 7919) % 1000;
  cudaMalloc(&d, sizeof host);
  cudaMemcpy(d, host, sizeof host, cudaMemcpyHostToDevice);
#ifdef FIXED
  for (int k = 0; k < n; k++) relax<<<n, n>>>(d, n, k, k + 1);
#else
  relax<<<n, n>>>(d, n, 0, n);
#endif
  cudaDeviceSynchronize();
  cudaFree(d);
  return 0;
}
