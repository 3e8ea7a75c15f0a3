// A program without a mistake: warpemu --checks all ./vector_add
#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* sums, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 100'000;
  constexpr size_t kBytes = kCount * sizeof(float);
  std::vector<float> a(kCount, 1), b(kCount, 2), sums(kCount);
  float *d_a = nullptr, *d_b = nullptr, *d_sums = nullptr;
  cudaMalloc(&d_a, kBytes);
  cudaMalloc(&d_b, kBytes);
  cudaMalloc(&d_sums, kBytes);
  cudaMemcpy(d_a, a.data(), kBytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), kBytes, cudaMemcpyHostToDevice);
  add<<<(kCount + 255) / 256, 256>>>(d_a, d_b, d_sums, kCount);
  cudaMemcpy(sums.data(), d_sums, kBytes, cudaMemcpyDeviceToHost);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_sums);
  int right = 0;
  for (const float sum : sums) right += sum == 3;
  std::printf("%d of %d sums are right\n", right, kCount);
  return right == kCount ? 0 : 2;
}
