// More bytes are copied to a constant array than it has: none of them is.
#include <cuda_runtime.h>

__constant__ int month_days[12];

__global__ void add_days(int* totals) {
  totals[threadIdx.x] += month_days[threadIdx.x];
}

int main() {
  int days[16] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int* totals;
  cudaMalloc(&totals, 12 * sizeof(int));
  cudaMemset(totals, 0, 12 * sizeof(int));
#ifdef FIXED
  cudaMemcpyToSymbol(month_days, days, sizeof month_days);
#else
  // CURE: month_days) at most
  cudaMemcpyToSymbol(month_days, days, sizeof days);  // MISTAKE: invalid_copy
#endif
  add_days<<<1, 12>>>(totals);
  cudaDeviceSynchronize();
  cudaFree(totals);
  return 0;
}
