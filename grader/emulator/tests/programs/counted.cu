// Kernels whose cost is known: each shows one of the performance problems that counters tell, or its cure. Prints the
// counters of the one that is named. The lines that the tests look at carry "COUNTED <kernel>".
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "check.h"

__global__ void copy(float* to, const float* from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];  // COUNTED copy
}

__global__ void shifted(float* to, const float* from) {
  const int i = threadIdx.x;
  to[i] = from[i + 1];  // COUNTED shifted
}

__global__ void strided(float* to, const float* from, int stride) {
  const int i = threadIdx.x;
  to[i] = from[i * stride];  // COUNTED strided
}

__global__ void uniform(float* to, const float* from) {
  to[threadIdx.x] = from[blockIdx.x];  // COUNTED uniform
}

// Lane pairs read one element: 16 different floats lie in two sectors.
__global__ void paired(float* to, const float* from) {
  to[threadIdx.x] = from[threadIdx.x / 2];  // COUNTED paired
}

// In no order: 16 different floats, each wanted twice, in a sector of its own.
__global__ void scattered(float* to, const float* from) {
  const int i = threadIdx.x;
  to[i] = from[i * 5 % 16 * 8];  // COUNTED scattered
}

__global__ void wide(float4* to, const float4* from) {
  to[threadIdx.x] = from[threadIdx.x];  // COUNTED wide
}

template <int kPitch>
__device__ void read_column(float* out) {
  __shared__ float tile[32 * kPitch];
  for (int y = 0; y < 32; ++y) tile[y * kPitch + threadIdx.x] = float(y);
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int x = 0; x < 32; ++x) sum += tile[threadIdx.x * kPitch + x];
  out[threadIdx.x] = sum;
}

__global__ void column(float* out) {
  read_column<32>(out);  // COUNTED column
}

__global__ void padded(float* out) {
  read_column<33>(out);  // COUNTED padded
}

// 8 bytes a lane go in two halves, 16 in four quarters, unless neighbours want the same.
template <class T>
__device__ void read_shared(T* out, int shift) {
  __shared__ T values[256];
  values[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x >> shift];
}

__global__ void shared_double(double* out, int shift) {
  read_shared(out, shift);  // COUNTED shared_double
}

__global__ void shared_float4(float4* out, int shift) {
  read_shared(out, shift);  // COUNTED shared_float4
}

__global__ void halves(float* out, const int* turns) {
  const int n = turns[threadIdx.x & 1];
  float x = 1;
  for (int k = 0; k < n; ++k) x = x * 1.5f + 1;  // COUNTED halves
  out[threadIdx.x] = x;
}

__global__ void histogram(int* bins, int shift) {
  atomicAdd(&bins[threadIdx.x >> shift], int(threadIdx.x) + 1);  // COUNTED histogram
}

// All lanes but the last meet.
__global__ void skewed_histogram(int* bins) {
  atomicAdd(&bins[threadIdx.x / 31], int(threadIdx.x) + 1);  // COUNTED skewed_histogram
}

__global__ void shared_histogram(int* out, int shift) {
  __shared__ int bins[32];
  bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x >> shift], int(threadIdx.x) + 1);  // COUNTED shared_histogram
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void heavy_block(float* out, const int* turns) {
  const int n = turns[blockIdx.x];
  float x = 1;
#pragma unroll 1
  for (int k = 0; k < n; ++k) x = x * 1.5f + 1;
  out[blockIdx.x * 32 + threadIdx.x] = x;
}

// One thread adds up what all have stored; the others wait or have ended.
__global__ void serial_end(float* out, const float* from, int adder) {
  __shared__ float terms[128];
  terms[threadIdx.x] = from[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x != adder) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 128; ++k) sum += terms[k];  // COUNTED serial_end
  out[blockIdx.x] = sum;
}

// Each of eight blocks reads the same 32 floats.
__global__ void reread(float* to, const float* from) {
  to[blockIdx.x * 32 + threadIdx.x] = from[threadIdx.x];
}

template <class T>
T* filled(size_t count, int byte = 0) {
  T* p = nullptr;
  CHECK_CUDA(cudaMalloc(&p, count * sizeof(T)));
  CHECK_CUDA(cudaMemset(p, byte, count * sizeof(T)));
  return p;
}

int* numbers(std::vector<int> values) {
  int* p = filled<int>(values.size());
  CHECK_CUDA(cudaMemcpy(p, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
  return p;
}

void launch(const std::string& name, int n) {
  float* a = filled<float>(4096);
  float* b = filled<float>(4096);
  if (name == "copy") copy<<<4, 64>>>(a, b);
  if (name == "shifted") shifted<<<1, 32>>>(a, b);
  if (name == "strided") strided<<<1, 32>>>(a, b, n);
  if (name == "uniform") uniform<<<1, 32>>>(a, b);
  if (name == "paired") paired<<<1, 32>>>(a, b);
  if (name == "scattered") scattered<<<1, 32>>>(a, b);
  if (name == "wide") wide<<<1, 32>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b));
  if (name == "column") column<<<1, 32>>>(a);
  if (name == "padded") padded<<<1, 32>>>(a);
  if (name == "shared_double") shared_double<<<1, 32>>>(reinterpret_cast<double*>(a), n);
  if (name == "shared_float4") shared_float4<<<1, 32>>>(reinterpret_cast<float4*>(a), n);
  if (name == "halves") halves<<<1, 32>>>(a, numbers({0, 100}));
  if (name == "histogram") histogram<<<1, 32>>>(filled<int>(32), n);
  if (name == "skewed_histogram") skewed_histogram<<<1, 32>>>(filled<int>(32));
  if (name == "shared_histogram") shared_histogram<<<1, 32>>>(filled<int>(32), n);
  if (name == "heavy_block") heavy_block<<<4, 32>>>(a, numbers({10, 10, 10, 10000}));
  if (name == "serial_end") serial_end<<<4, 128>>>(a, b, n);
  if (name == "reread") reread<<<8, 32>>>(a, b);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
  launch(argc > 1 ? argv[1] : "copy", argc > 2 ? std::atoi(argv[2]) : 0);
  using Drain = size_t (*)(char*, size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  static char text[1 << 16];
  if (drain != nullptr && drain(text, sizeof text) != 0) std::fputs(text, stdout);
}
