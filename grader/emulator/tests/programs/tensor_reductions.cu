// Reductions into tensors through maps (TMA, sm_90a) and into plain memory, against loops on the host.
#include <cuda_fp16.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tensor_maps.h"

// clang-format off
#define REDUCE_TENSOR(op) \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%1, %2}], [%3];" \
               ::"l"(&map), "r"(x), "r"(y), "r"(shared_address(box)) : "memory")
#define REDUCE_BYTES(op) \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op " [%0], [%1], %2;" \
               ::"l"(to), "r"(shared_address(box)), "r"(bytes) : "memory")
// clang-format on

template <class T>
__global__ void reduce_tensor(const __grid_constant__ CUtensorMap map, int x, int y, int op, const T* values,
                              int n) {
  extern __shared__ __align__(1024) unsigned char raw[];
  T* box = reinterpret_cast<T*>(raw);
  for (int k = int(threadIdx.x); k < n; k += int(blockDim.x)) box[k] = values[k];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (op == 0) REDUCE_TENSOR("add");
  if (op == 1) REDUCE_TENSOR("min");
  if (op == 2) REDUCE_TENSOR("max");
  if (op == 3) REDUCE_TENSOR("and");
  if (op == 4) REDUCE_TENSOR("or");
  if (op == 5) REDUCE_TENSOR("xor");
  if (op == 6) REDUCE_TENSOR("inc");
  if (op == 7) REDUCE_TENSOR("dec");
  end_stores();
}

template <class T>
T reduced(int op, T old, T x) {
  if (op == 0) return T(old + x);
  if (op == 1) return std::min(old, x);
  if (op == 2) return std::max(old, x);
  if constexpr (std::is_integral<T>::value) {
    if (op == 3) return old & x;
    if (op == 4) return old | x;
    if (op == 5) return old ^ x;
    if (op == 6) return old >= x ? 0 : old + 1;
    if (op == 7) return old == 0 || old > x ? x : old - 1;
  }
  return old;
}

template <class T>
void tensor_reduction(CUtensorMapDataType type, int op, int blocks) {
  Tensor t = {type, sizeof(T), {sizeof(T) == 8 ? 19u : 18u, 12}, {16 / sizeof(T) * 2, 6}};
  Managed<unsigned char> tensor(t.bytes());
  const int n = int(t.box_bytes() / sizeof(T)), x = sizeof(T) == 8 ? 18 : 16;  // over the tensor's edge
  Managed<T> values(static_cast<size_t>(n));
  std::vector<unsigned char> want(t.bytes());
  for (size_t k = 0; k + sizeof(T) <= t.bytes(); k += sizeof(T)) {
    const T v = T(bits_of(int(k), 3) % 1000);
    std::memcpy(tensor.data + k, &v, sizeof v);
  }
  std::copy(tensor.data, tensor.data + t.bytes(), want.begin());
  for (int k = 0; k < n; ++k) values[size_t(k)] = T(bits_of(k, 4) % 1000);
  CUtensorMap map;
  expect(t.encode(map, tensor.data) == CUDA_SUCCESS, "a map for reductions");
  reduce_tensor<T><<<blocks, 32, t.box_bytes()>>>(map, x, 3, op, values.data, n);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int b = 0; b < blocks; ++b) {
    for_each_element(written_whole(t), {{x, 3}}, [&](unsigned in_box, size_t in_tensor) {
      if (in_tensor == ~size_t(0)) return;
      T old;
      std::memcpy(&old, &want[in_tensor], sizeof old);
      old = reduced(op, old, values[in_box / sizeof(T)]);
      std::memcpy(&want[in_tensor], &old, sizeof old);
    });
  }
  const bool ok = std::equal(want.begin(), want.end(), tensor.data);
  expect(ok, "a reduction into a tensor");
  if (!ok) std::printf("type %d, operation %d\n", int(type), op);
}

__global__ void reduce_bytes(void* to, const unsigned* values, int n, int op) {
  __shared__ __align__(128) unsigned box[256];
  for (int k = int(threadIdx.x); k < n; k += int(blockDim.x)) box[k] = values[k];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned bytes = unsigned(n) * 4;
  if (threadIdx.x != 0) return;
  if (op == 0) REDUCE_BYTES("add.u32");
  if (op == 1) REDUCE_BYTES("min.s32");
  if (op == 2) REDUCE_BYTES("xor.b32");
  if (op == 3) REDUCE_BYTES("add.f32");
  if (op == 4) REDUCE_BYTES("add.noftz.f16");
  if (op == 5) REDUCE_BYTES("max.u64");
  if (op == 6) REDUCE_BYTES("add.f64");
  if (op == 7) REDUCE_BYTES("min.bf16");
  end_stores();
}

template <class T, class Combine>
void byte_reduction(int op, Combine combine) {
  constexpr int words = 64, n = words * 4 / int(sizeof(T)), blocks = 5;
  Managed<T> to(static_cast<size_t>(n)), from(static_cast<size_t>(n));
  std::vector<T> want;
  for (int k = 0; k < n; ++k) {
    to[size_t(k)] = T(float(int(bits_of(k, 6) % 200) - 100));
    from[size_t(k)] = T(float(int(bits_of(k, 7) % 200) - 100));
    T value = to[size_t(k)];
    for (int b = 0; b < blocks; ++b) value = combine(value, from[size_t(k)]);
    want.push_back(value);
  }
  reduce_bytes<<<blocks, 32>>>(to.data, reinterpret_cast<const unsigned*>(from.data), words, op);
  CHECK_CUDA(cudaDeviceSynchronize());
  const bool ok = std::memcmp(want.data(), to.data, words * 4) == 0;
  expect(ok, "a reduction of plain bytes");
  if (!ok) std::printf("operation %d\n", op);
}

void reductions() {
  for (int op = 0; op < 8; ++op) tensor_reduction<unsigned>(CU_TENSOR_MAP_DATA_TYPE_UINT32, op, 4);
  for (int op = 0; op < 6; ++op) tensor_reduction<int>(CU_TENSOR_MAP_DATA_TYPE_INT32, op, 1);
  for (int op = 0; op < 6; ++op) tensor_reduction<unsigned long long>(CU_TENSOR_MAP_DATA_TYPE_UINT64, op, 2);
  tensor_reduction<float>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0, 6);
  byte_reduction<unsigned>(0, [](unsigned x, unsigned y) { return x + y; });
  byte_reduction<int>(1, [](int x, int y) { return std::min(x, y); });
  byte_reduction<unsigned>(2, [](unsigned x, unsigned y) { return x ^ y; });
  byte_reduction<float>(3, [](float x, float y) { return x + y; });
  byte_reduction<__half>(4,
                         [](__half x, __half y) { return __float2half(__half2float(x) + __half2float(y)); });
  byte_reduction<unsigned long long>(5, [](auto x, auto y) { return std::max(x, y); });
  byte_reduction<double>(6, [](double x, double y) { return x + y; });
}

int main() {
  reductions();
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
