// The tile is read by columns while other warps still write its rows.
#include <cuda_runtime.h>

__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 16 + x];
#ifdef FIXED
  __syncthreads();
#endif
  out[y * 16 + x] = tile[x][y];  // MISTAKE: shared_race
}

int main() {
  float host[256], *in, *out;
  for (int i = 0; i < 256; i++) host[i] = i;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  transpose<<<1, dim3(16, 16)>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
