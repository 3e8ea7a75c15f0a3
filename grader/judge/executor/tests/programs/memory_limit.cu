// Every way to device memory, beyond a limit of 8 MiB and within it. The exit code is the number of mistakes.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

int g_mistakes = 0;

void expect(bool ok, const char* what) {
  if (ok) return;
  ++g_mistakes;
  std::printf("FAILED: %s\n", what);
}
void good(cudaError_t error, const char* what) {
  expect(error == cudaSuccess, what);
}

__device__ char g_large[12 << 20];
__global__ void write_large() {
  g_large[threadIdx.x] = 1;
}

void memory_limit() {
  constexpr size_t kSmall = 4 << 20, kLarge = 16 << 20;
  void* p = nullptr;
  cudaPitchedPtr volume;
  size_t pitch = 0;
  const auto refused = [](cudaError_t error, const char* what) {
    expect(error == cudaErrorMemoryAllocation, what);
    cudaGetLastError();
  };
  refused(cudaMalloc(&p, kLarge), "cudaMalloc beyond the limit");
  refused(cudaMallocManaged(&p, kLarge), "cudaMallocManaged beyond the limit");
  refused(cudaMallocAsync(&p, kLarge, nullptr), "cudaMallocAsync beyond the limit");
  refused(cudaMallocPitch(&p, &pitch, 1000, kLarge / 1024), "cudaMallocPitch beyond the limit");
  refused(cudaMalloc3D(&volume, make_cudaExtent(1000, 128, kLarge / 1024 / 128)), "cudaMalloc3D beyond it");
  refused(cudaDeviceSetLimit(cudaLimitMallocHeapSize, kLarge + (8 << 20)), "a heap beyond the limit");
  good(cudaMalloc(&p, kSmall), "cudaMalloc within the limit");
  good(cudaFree(p), "a free");
  good(cudaMallocAsync(&p, kSmall, nullptr), "cudaMallocAsync within the limit");
  good(cudaFreeAsync(p, nullptr), "a free");
  good(cudaMallocManaged(&p, kSmall), "cudaMallocManaged within the limit");
  good(cudaFree(p), "a free");
  write_large<<<1, 1>>>();  // its variable alone is larger than the limit
  refused(cudaGetLastError(), "a module with large variables");
}

}  // namespace

int main() {
  memory_limit();
  return g_mistakes;
}
