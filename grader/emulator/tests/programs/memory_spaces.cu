// Every space and width: global, shared (static, dynamic, several variables), local, constant, device
// variables, vectors, generic pointers, cache operators.
#include "check.h"

__constant__ float c_coefficients[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__constant__ int c_table[8];
__device__ int d_counter = 5;
__device__ int d_offset = 5;
__device__ const int* d_pointer = &d_offset;
__device__ double d_values[3] = {0.5, -1.5, 2.5};
__device__ __managed__ int m_value = 42;

template <class T>
__global__ void copy_elements(const T* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[n - 1 - i];
}

template <class T>
void widths(const char* name) {
  constexpr int n = 777;
  std::vector<T> in(n), out(n);
  for (int k = 0; k < n; ++k) {
    for (size_t b = 0; b < sizeof(T); ++b)
      reinterpret_cast<uint8_t*>(&in[k])[b] = uint8_t(bits_of(k, int(b)));
  }
  T *device_in, *device_out;
  CHECK_CUDA(cudaMalloc(&device_in, n * sizeof(T)));
  CHECK_CUDA(cudaMalloc(&device_out, n * sizeof(T)));
  CHECK_CUDA(cudaMemcpy(device_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  copy_elements<<<(n + 127) / 128, 128>>>(device_in, device_out, n);
  CHECK_CUDA(cudaMemcpy(out.data(), device_out, n * sizeof(T), cudaMemcpyDeviceToHost));
  for (int k = 0; k < n; ++k) expect(std::memcmp(&out[k], &in[n - 1 - k], sizeof(T)) == 0, name);
  CHECK_CUDA(cudaFree(device_in));
  CHECK_CUDA(cudaFree(device_out));
}

__global__ void constants(float* out) {
  const int t = threadIdx.x;
  out[t] = c_coefficients[t % 4] * float(c_table[t % 8]) + float(*d_pointer) + float(d_values[t % 3]) +
           float(m_value);
  if (t == 0) atomicAdd(&d_counter, 1);
}

extern __shared__ double dynamic_tile[];

__global__ void shared_variables(int* out) {
  __shared__ int ints[64];
  __shared__ short shorts[64];
  __shared__ float4 vectors[64];
  const int t = threadIdx.x;
  ints[t] = t * 3;
  shorts[t] = short(-t);
  vectors[t] = make_float4(t, t + 1, t + 2, t + 3);
  dynamic_tile[t] = t * 0.5;
  __syncthreads();
  const int u = 63 - t;
  const float4 v = vectors[u];
  out[t] = ints[u] + shorts[u] + int(v.x + v.y + v.z + v.w) + int(dynamic_tile[u] * 2);
}

// The compiler cannot know which space `p` points to.
__device__ __noinline__ int through_generic(const int* p, int k) {
  return p[k];
}

__global__ void generic_pointers(const int* global, int* out) {
  __shared__ int tile[32];
  int stack[8];
  const int t = threadIdx.x;
  tile[t] = t + 100;
  for (int k = 0; k < 8; ++k) stack[k] = t * 10 + k;
  __syncthreads();
  const int* p = t % 3 == 0 ? global : t % 3 == 1 ? tile : stack;
  out[t] = through_generic(p, t % 8);
}

__global__ void dynamic_index(int* out) {
  int history[16];
  const int t = threadIdx.x;
  for (int k = 0; k < 16; ++k) history[(k * 5 + t) % 16] = k * t;
  int sum = 0;
  for (int k = 0; k < 16; k += 3) sum += history[(k + t) % 16];
  out[t] = sum;
}

__global__ void cache_operators(const int* in, int* out) {
  const int t = threadIdx.x;
  int a = __ldg(in + t), b = __ldcg(in + t), c = __ldcs(in + t), d, e;
  asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(d) : "l"(in + t));
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.nc.L1::evict_first.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(e)
               : "l"(in + t), "l"(policy));
  __stcs(out + t, a + b + c + d + e + *(volatile const int*)(in + t));
}

struct Parameters {
  int a;
  double b;
  char text[12];
  float3 v;
};
__global__ void by_value(const __grid_constant__ Parameters p, int k, int* out) {
  const Parameters* address = &p;
  out[threadIdx.x] = p.a + int(p.b) + p.text[(threadIdx.x + k) % 12] + int(address->v.y);
}

int main() {
  widths<uint8_t>("8 bits");
  widths<uint16_t>("16 bits");
  widths<int>("32 bits");
  widths<double>("64 bits");
  widths<short4>("4 x 16 bits");
  widths<float2>("2 x 32 bits");
  widths<int4>("4 x 32 bits");
  widths<double2>("2 x 64 bits");
  widths<uchar4>("4 x 8 bits");

  const int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK_CUDA(cudaMemcpyToSymbol(c_table, table, sizeof table));
  Managed<float> floats(64);
  constants<<<1, 64>>>(floats.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  const double values[3] = {0.5, -1.5, 2.5};
  for (int t = 0; t < 64; ++t) {
    expect(floats[t] == float(t % 4 + 1) * float(t % 8 + 1) + 5 + float(values[t % 3]) + 42,
           "constant and device variables");
  }
  int counter = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&counter, d_counter, sizeof counter));
  expect(counter == 6 && m_value == 42, "variables seen from the host");

  Managed<int> out(64), in(64);
  shared_variables<<<1, 64, 64 * sizeof(double)>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    const int u = 63 - t;
    expect(out[t] == u * 3 - u + 4 * u + 6 + u, "shared variables");
  }
  for (int t = 0; t < 64; ++t) in[t] = t * 7;
  generic_pointers<<<1, 32>>>(in.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 32; ++t) {
    const int k = t % 8;
    expect(out[t] == (t % 3 == 0   ? k * 7
                      : t % 3 == 1 ? k + 100
                                   : t * 10 + k),
           "generic pointers into three spaces");
  }
  dynamic_index<<<1, 64>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    int history[16], sum = 0;
    for (int k = 0; k < 16; ++k) history[(k * 5 + t) % 16] = k * t;
    for (int k = 0; k < 16; k += 3) sum += history[(k + t) % 16];
    expect(out[t] == sum, "local arrays with dynamic indices");
  }
  cache_operators<<<1, 64>>>(in.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(out[t] == 6 * 7 * t, "cache operators and policies");
  Parameters p{3, 4.5, "hello world", {1, 20, 3}};
  by_value<<<1, 64>>>(p, 2, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) expect(out[t] == 3 + 4 + p.text[(t + 2) % 12] + 20, "structures by value");
  return g_failures;
}
