// Copies of tensors through maps (TMA, sm_90a) against loops on the host: every rank, element size, swizzle,
// boxes that leave the tensor, element strides; stores, reductions, several receivers, maps that kernels
// change; a product of matrices in a pipeline of copies and wgmma. With an argument: one mistake, at the line
// that carries MISTAKE <argument>; prints the error that the program sees.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <string>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

Encode encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  CHECK_CUDA(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  if (found == nullptr) std::exit(101);
  return reinterpret_cast<Encode>(found);
}

struct Tensor {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  unsigned element = 4;  // bytes
  std::vector<cuuint64_t> size{64};
  std::vector<cuuint32_t> box{32};
  std::vector<cuuint32_t> step{};
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  unsigned rank() const { return unsigned(size.size()); }
  cuuint64_t pitch(unsigned axis) const {  // bytes from one element to the next, rows padded to 16 bytes
    cuuint64_t bytes = element;
    for (unsigned a = 0; a < axis; ++a) {
      bytes *= size[a];
      if (a == 0) bytes = (bytes + 15) / 16 * 16 + 16;
    }
    return bytes;
  }
  size_t bytes() const { return pitch(rank() - 1) * size.back() + 64; }
  unsigned count(unsigned axis) const {
    return axis == 0 || step.empty() ? box[axis] : (box[axis] + step[axis] - 1) / step[axis];
  }
  unsigned box_bytes() const {
    unsigned n = element;
    for (unsigned a = 0; a < rank(); ++a) n *= count(a);
    return n;
  }
  CUresult encode(CUtensorMap& map, void* address) const {
    cuuint64_t stride[5] = {};
    for (unsigned a = 1; a < rank(); ++a) stride[a - 1] = pitch(a);
    std::vector<cuuint32_t> steps = step;
    steps.resize(rank(), 1);
    return encoder()(&map, type, rank(), address, size.data(), stride, box.data(), steps.data(),
                     CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
  }
};

struct Place {
  int c[5];
};

// Calls use(byte in the box's image, byte in the tensor; ~0: outside) for each element.
template <class Use>
void for_each_element(const Tensor& t, const Place& at, Use use) {
  unsigned total = 1;
  for (unsigned a = 0; a < t.rank(); ++a) total *= t.count(a);
  const unsigned line = t.count(0) * t.element, exchanged = (1u << t.swizzle) - 1;
  for (unsigned k = 0; k < total; ++k) {
    size_t in_tensor = 0;
    bool inside = true;
    for (unsigned a = 0, rest = k; a < t.rank(); ++a) {
      const int64_t index = at.c[a] + int64_t(rest % t.count(a)) * (a == 0 || t.step.empty() ? 1 : t.step[a]);
      rest /= t.count(a);
      inside &= index >= 0 && index < int64_t(t.size[a]);
      in_tensor += size_t(index) * t.pitch(a);
    }
    unsigned in_box = k * t.element;
    if (t.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && line == 16u << t.swizzle)
      in_box ^= (in_box >> 7 & exchanged) << 4;
    use(in_box, inside ? in_tensor : ~size_t(0));
  }
}

__device__ inline unsigned shared_address(const void* p) {
  return unsigned(__cvta_generic_to_shared(p));
}
__device__ inline void wait_for(uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra "
      "AGAIN;\nDONE:\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ inline void prepare(uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// clang-format off
__device__ inline void load_box(int rank, const void* map, const Place& p, void* to, uint64_t* barrier) {
  const unsigned dst = shared_address(to), bar = shared_address(barrier);
#define LOAD(dim, list, ...) \
  asm volatile("cp.async.bulk.tensor." dim ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" list "}], [%2];" \
               ::"r"(dst), "l"(map), "r"(bar), __VA_ARGS__ : "memory")
  if (rank == 1) LOAD("1d", "%3", "r"(p.c[0]));
  if (rank == 2) LOAD("2d", "%3,%4", "r"(p.c[0]), "r"(p.c[1]));
  if (rank == 3) LOAD("3d", "%3,%4,%5", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]));
  if (rank == 4) LOAD("4d", "%3,%4,%5,%6", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]));
  if (rank == 5) LOAD("5d", "%3,%4,%5,%6,%7", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]), "r"(p.c[4]));
#undef LOAD
}
__device__ inline void store_box(int rank, const void* map, const Place& p, const void* from) {
  const unsigned src = shared_address(from);
#define STORE(dim, list, ...) \
  asm volatile("cp.async.bulk.tensor." dim ".global.shared::cta.tile.bulk_group [%1, {" list "}], [%0];" \
               ::"r"(src), "l"(map), __VA_ARGS__ : "memory")
  if (rank == 1) STORE("1d", "%2", "r"(p.c[0]));
  if (rank == 2) STORE("2d", "%2,%3", "r"(p.c[0]), "r"(p.c[1]));
  if (rank == 3) STORE("3d", "%2,%3,%4", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]));
  if (rank == 4) STORE("4d", "%2,%3,%4,%5", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]));
  if (rank == 5) STORE("5d", "%2,%3,%4,%5,%6", "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]), "r"(p.c[4]));
#undef STORE
}
// clang-format on
__device__ inline void end_stores() {
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ void load_to(const void* map, int rank, const Place& at, unsigned bytes, unsigned char* out) {
  extern __shared__ __align__(1024) unsigned char box[];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    prepare(&barrier, bytes);
    load_box(rank, map, at, box, &barrier);
  }
  __syncthreads();
  wait_for(&barrier, 0);
  for (unsigned k = threadIdx.x; k < bytes; k += blockDim.x) out[k] = box[k];
}

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, int rank, Place at, unsigned bytes,
                            unsigned char* out) {
  load_to(&map, rank, at, bytes, out);
}
__global__ void load_by_pointer(const CUtensorMap* map, int rank, Place at, unsigned bytes,
                                unsigned char* out) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
  load_to(map, rank, at, bytes, out);
}
// A line of 128 bytes of its own for each map: the unit that copies keeps descriptors by their address, and maps that lie
// across two lines would share one with their neighbours.
constexpr int kMostMaps = 32;
struct alignas(128) MapInLine {
  CUtensorMap map;
};
__constant__ MapInLine g_maps[kMostMaps];
// Not in managed memory: a GPU called a descriptor there an illegal instruction.
__device__ MapInLine g_maps_in_memory[kMostMaps];
__global__ void load_by_constant(int number, int rank, Place at, unsigned bytes, unsigned char* out) {
  load_to(&g_maps[number].map, rank, at, bytes, out);
}

__global__ void store_kernel(const __grid_constant__ CUtensorMap map, int rank, Place at, unsigned bytes,
                             const unsigned char* values) {
  extern __shared__ __align__(1024) unsigned char box[];
  for (unsigned k = threadIdx.x; k < bytes; k += blockDim.x) box[k] = values[k];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box(rank, &map, at, box);  // MISTAKE store_before_tensor
    end_stores();
  }
}

unsigned char byte_of(size_t k) {
  return static_cast<unsigned char>(bits_of(int(k), 5) >> 9);
}

// Of a floating-point type, outside: NaN.
bool is_outside_value(const Tensor& t, const unsigned char* at) {
  if (t.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return std::all_of(at, at + t.element, [](unsigned char b) { return b == 0; });
  if (t.element == 2) {
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    return (bits & 0x7fff) > 0x7c00;
  }
  float f;
  std::memcpy(&f, at, 4);
  return std::isnan(f);
}

bool load_agrees(const Tensor& t, const Place& at, int where) {
  Managed<unsigned char> tensor(t.bytes()), out(t.box_bytes());
  for (size_t k = 0; k < t.bytes(); ++k) tensor[k] = byte_of(k);
  static int in_memory = 0, in_constants = 0;
  CUtensorMap map;
  if (t.encode(map, tensor.data) != CUDA_SUCCESS) return false;
  const unsigned bytes = t.box_bytes();
  if (where == 0) load_kernel<<<1, 64, bytes>>>(map, int(t.rank()), at, bytes, out.data);
  if (where == 1) {
    void* maps = nullptr;
    CHECK_CUDA(cudaMemcpyToSymbol(g_maps_in_memory, &map, sizeof map, size_t(in_memory) * sizeof(MapInLine)));
    CHECK_CUDA(cudaGetSymbolAddress(&maps, g_maps_in_memory));
    load_by_pointer<<<1, 64, bytes>>>(&(static_cast<MapInLine*>(maps) + in_memory++)->map, int(t.rank()), at,
                                      bytes, out.data);
  }
  if (where == 2) {
    CHECK_CUDA(cudaMemcpyToSymbol(g_maps, &map, sizeof map, size_t(in_constants) * sizeof(MapInLine)));
    load_by_constant<<<1, 64, bytes>>>(in_constants++, int(t.rank()), at, bytes, out.data);
  }
  if (cudaDeviceSynchronize() != cudaSuccess)
    std::printf("rank %u, elements of %u bytes, swizzle %d, map in place %d, from %d %d\n", t.rank(),
                t.element, int(t.swizzle), where, at.c[0], at.c[1]);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for_each_element(t, at, [&](unsigned in_box, size_t in_tensor) {
    ok &= in_tensor == ~size_t(0) ? is_outside_value(t, out.data + in_box)
                                  : std::memcmp(out.data + in_box, tensor.data + in_tensor, t.element) == 0;
  });
  return ok;
}

bool store_agrees(const Tensor& t, const Place& at) {
  Managed<unsigned char> tensor(t.bytes()), values(t.box_bytes());
  std::vector<unsigned char> want(t.bytes());
  for (size_t k = 0; k < t.bytes(); ++k) tensor[k] = want[k] = byte_of(k);
  for (unsigned k = 0; k < t.box_bytes(); ++k) values[k] = byte_of(k + 7777);
  CUtensorMap map;
  if (t.encode(map, tensor.data) != CUDA_SUCCESS) return false;
  store_kernel<<<1, 64, t.box_bytes()>>>(map, int(t.rank()), at, t.box_bytes(), values.data);
  if (cudaDeviceSynchronize() != cudaSuccess)
    std::printf("rank %u, elements of %u bytes, swizzle %d, stored to %d %d\n", t.rank(), t.element,
                int(t.swizzle), at.c[0], at.c[1]);
  CHECK_CUDA(cudaDeviceSynchronize());
  // A piece of 16 bytes that begins in a row is written whole: up to there, what is behind the row's end as well.
  Tensor whole = t;
  whole.size[0] = (t.size[0] * t.element + 15) / 16 * 16 / t.element;
  for_each_element(whole, at, [&](unsigned in_box, size_t in_tensor) {
    if (in_tensor != ~size_t(0)) std::memcpy(&want[in_tensor], values.data + in_box, t.element);
  });
  return std::equal(want.begin(), want.end(), tensor.data);
}

void loads_and_stores() {
  const Tensor tensors[] = {
      {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {100}, {48}},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {75}, {16}},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {50, 37}, {24, 10}},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, {20, 15}, {6, 4}},
      {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {20, 11, 7}, {8, 5, 3}},
      {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, {20, 11, 7, 5}, {8, 5, 3, 2}},
      {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, {16, 6, 5, 4, 3}, {8, 4, 3, 2, 2}},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 40}, {16, 20}, {}, CU_TENSOR_MAP_SWIZZLE_32B},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 40}, {32, 20}, {}, CU_TENSOR_MAP_SWIZZLE_64B},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {70, 40}, {64, 33}, {}, CU_TENSOR_MAP_SWIZZLE_128B},
      {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {256, 9, 4}, {128, 5, 3}, {}, CU_TENSOR_MAP_SWIZZLE_128B},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {40, 30}, {8, 12}, {1, 3}},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {40, 30, 9}, {32, 11, 4}, {1, 2, 3}, CU_TENSOR_MAP_SWIZZLE_128B},
  };
  // The first number counts pieces of 16 bytes: boxes begin at such a piece of a row, or the GPU stops the kernel.
  const Place places[] = {{{0, 0, 0, 0, 0}},  {{1, 3, 1, 1, 1}},  {{-1, -2, -1, 0, -1}},
                          {{5, 34, 5, 3, 2}}, {{20, 0, 0, 0, 0}}, {{0, 1000, -50, 2, 0}}};
  int which = 0;
  for (const Tensor& t : tensors) {
    for (Place at : places) {
      at.c[0] *= int(16 / t.element);
      const bool loaded = load_agrees(t, at, which++ % 3);
      expect(loaded, "a box that is loaded");
      // Stores with element strides are left to hardware that documents them. A store may not begin before the
      // tensor.
      const bool begins_inside = std::all_of(at.c, at.c + t.rank(), [](int c) { return c >= 0; });
      const bool stored = !t.step.empty() || !begins_inside || store_agrees(t, at);
      expect(stored, "a box that is stored");
      if (!loaded || !stored)
        std::printf("tensor %d, rank %u, from %d %d\n", int(&t - tensors), t.rank(), at.c[0], at.c[1]);
    }
  }
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {40, 30}, {16, 8}};
  t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  expect(load_agrees(t, {{28, -3}}, 0), "outside of the tensor: NaN");
  t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {40, 30}, {16, 8}};
  t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  expect(load_agrees(t, {{32, -3}}, 0), "outside of the tensor: NaN of halves");
}

// --- reductions ---

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
  Tensor t = {type, sizeof(T), {20, 12}, {16 / sizeof(T) * 2, 6}};
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
    for_each_element(t, {{x, 3}}, [&](unsigned in_box, size_t in_tensor) {
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

// --- several receivers, and reductions in another block's shared memory ---

// clang-format off
__global__ void __cluster_dims__(2, 1, 1) share_tiles(const __grid_constant__ CUtensorMap map, const float* row, float* out) {
  __shared__ __align__(128) float tile[2][64];
  __shared__ __align__(128) float same_row[32];
  __shared__ uint64_t barrier;
  const unsigned rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0) prepare(&barrier, sizeof tile + sizeof same_row);
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {  // each block loads a half for both, block 1 a row for both as well
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared_address(tile[rank])), "l"(&map), "r"(0), "r"(int(rank) * 4), "r"(shared_address(&barrier)), "h"((unsigned short)3) : "memory");
    if (rank == 1)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                   ::"r"(shared_address(same_row)), "l"(row), "r"(128), "r"(shared_address(&barrier)), "h"((unsigned short)3) : "memory");
  }
  wait_for(&barrier, 0);
  for (int k = int(threadIdx.x); k < 128; k += int(blockDim.x)) out[rank * 160 + k] = tile[k / 64][k % 64];
  out[rank * 160 + 128 + threadIdx.x] = same_row[threadIdx.x];
  cg::this_cluster().sync();
}

__global__ void __cluster_dims__(2, 1, 1) add_to_neighbour(int* out) {
  __shared__ __align__(128) int mine[32], sums[32];
  __shared__ uint64_t barrier;
  const unsigned rank = cg::this_cluster().block_rank();
  mine[threadIdx.x] = int(rank * 100 + threadIdx.x);
  sums[threadIdx.x] = 1000;
  if (threadIdx.x == 0) prepare(&barrier, sizeof mine);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {
    const unsigned to = shared_address(sums), at = shared_address(&barrier);
    unsigned there, signal;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(to), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(at), "r"(rank ^ 1));
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 128, [%2];"
                 ::"r"(there), "r"(shared_address(mine)), "r"(signal) : "memory");
  }
  wait_for(&barrier, 0);
  out[rank * 32 + threadIdx.x] = sums[threadIdx.x];
  cg::this_cluster().sync();
}
// clang-format on

void clusters() {
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {16, 8}, {16, 4}};
  Managed<float> tensor(t.bytes() / 4), row(32), out(320);
  for (size_t k = 0; k < tensor.size; ++k) tensor[k] = float(k);
  for (int k = 0; k < 32; ++k) row[size_t(k)] = float(1000 + k);
  CUtensorMap map;
  expect(t.encode(map, tensor.data) == CUDA_SUCCESS, "a map for two blocks");
  share_tiles<<<2, 32>>>(map, row.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (size_t rank = 0; rank < 2; ++rank) {
    for (size_t k = 0; k < 128; ++k) ok &= out[rank * 160 + k] == tensor[k / 16 * t.pitch(1) / 4 + k % 16];
    for (size_t k = 0; k < 32; ++k) ok &= out[rank * 160 + 128 + k] == row[k];
  }
  expect(ok, "copies to both blocks of a cluster");
  Managed<int> sums(64);
  add_to_neighbour<<<2, 32>>>(sums.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int k = 0; k < 64; ++k) ok &= sums[size_t(k)] == 1000 + (k < 32 ? 100 : 0) + k % 32;
  expect(ok, "a reduction in the neighbour's shared memory");
}

// --- a map that a kernel changes: other tensors of the same form ---

// clang-format off
__global__ void change_map(const __grid_constant__ CUtensorMap map, CUtensorMap* changed, const float* other, unsigned rows) {
  __shared__ __align__(128) CUtensorMap copy;
  if (threadIdx.x < 16) copy.opaque[threadIdx.x] = map.opaque[threadIdx.x];
  __syncwarp();
  const unsigned at = shared_address(&copy);
  if (threadIdx.x == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(other) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows) : "memory");
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(changed), "r"(at) : "memory");
}
__global__ void load_changed(const CUtensorMap* map, Place at, unsigned bytes, unsigned char* out) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
  load_to(map, 2, at, bytes, out);
}
// clang-format on

void changed_maps() {
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {20, 12}, {8, 6}};
  Managed<float> first(t.bytes() / 4), second(t.bytes() / 4);
  for (size_t k = 0; k < second.size; ++k) second[k] = float(k) + 0.5f;
  Managed<unsigned char> out(t.box_bytes());
  CUtensorMap map, *changed;
  CHECK_CUDA(cudaMalloc(&changed, sizeof map));
  expect(t.encode(map, first.data) == CUDA_SUCCESS, "a map to change");
  change_map<<<1, 32>>>(map, changed, second.data, 9);
  load_changed<<<1, 32, t.box_bytes()>>>(changed, {{4, 5}}, t.box_bytes(), out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  t.size[1] = 9;
  bool ok = true;
  for_each_element(t, {{4, 5}}, [&](unsigned in_box, size_t in_tensor) {
    float got, want = in_tensor == ~size_t(0) ? 0.0f : second[in_tensor / 4];
    std::memcpy(&got, out.data + in_box, 4);
    ok &= got == want;
  });
  expect(ok, "a map whose address and size a kernel changed");
  CHECK_CUDA(cudaFree(changed));
}

// --- C = A B^T in tiles of 64 x 64: one thread keeps two stages of copies in flight, four warps multiply ---

constexpr int kTile = 64, kDepth = 64;  // k of a stage: 128 bytes of halves

__global__ void __launch_bounds__(128)
    multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
             const __grid_constant__ CUtensorMap c, int stages) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[2];
  constexpr unsigned tile_bytes = kTile * kDepth * 2;
  const int row = int(blockIdx.y) * kTile, column = int(blockIdx.x) * kTile;
  const auto issue = [&](int stage) {
    const int slot = stage % 2;
    unsigned char* at = memory + slot * 2 * tile_bytes;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[slot])),
                 "r"(2 * tile_bytes)
                 : "memory");
    load_box(2, &a, {{stage * kDepth, row}}, at, &full[slot]);
    load_box(2, &b, {{stage * kDepth, column}}, at + tile_bytes, &full[slot]);
  };
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2 && s < stages; ++s) issue(s);
  }
  float d[4][8] = {};  // 32 accumulators
  for (int s = 0; s < stages; ++s) {
    wait_for(&full[s % 2], unsigned(s / 2) & 1);
    const unsigned at = shared_address(memory) + unsigned(s % 2) * 2 * tile_bytes;
    const auto describe = [](unsigned address) {
      return uint64_t(address >> 4) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
    };
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kDepth / 16; ++k) {
      // clang-format off
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                   "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                   : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[0][4]), "+f"(d[0][5]), "+f"(d[0][6]), "+f"(d[0][7]),
                     "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[1][4]), "+f"(d[1][5]), "+f"(d[1][6]), "+f"(d[1][7]),
                     "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[2][4]), "+f"(d[2][5]), "+f"(d[2][6]), "+f"(d[2][7]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[3][4]), "+f"(d[3][5]), "+f"(d[3][6]), "+f"(d[3][7])
                   : "l"(describe(at + unsigned(k) * 32)), "l"(describe(at + tile_bytes + unsigned(k) * 32)));
      // clang-format on
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();  // all have read the stage
    if (threadIdx.x == 0 && s + 2 < stages) issue(s + 2);
  }
  float* out = reinterpret_cast<float*>(memory);
  const int first = int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  for (int e = 0; e < 32; ++e)
    out[(first + e / 2 % 2 * 8) * kTile + e / 4 * 8 + int(threadIdx.x) % 4 * 2 + e % 2] = d[e / 8][e % 8];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box(2, &c, {{column, row}}, out);
    end_stores();
  }
}

void product() {
  constexpr int m = 150, n = 100, k = 200;
  const Tensor ta = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {k, m}, {kDepth, kTile}, {},
                     CU_TENSOR_MAP_SWIZZLE_128B},
               tb = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {k, n}, {kDepth, kTile}, {},
                     CU_TENSOR_MAP_SWIZZLE_128B},
               tc = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {n, m}, {kTile, kTile}};
  Managed<__half> a(ta.bytes() / 2), b(tb.bytes() / 2);
  Managed<float> c(tc.bytes() / 4);
  const auto at = [](const Tensor& t, int row, int column) {
    return size_t(row) * t.pitch(1) / t.element + size_t(column);
  };
  for (int r = 0; r < m; ++r)
    for (int j = 0; j < k; ++j) a[at(ta, r, j)] = __float2half(float(int(bits_of(r * k + j, 1) % 9) - 4));
  for (int r = 0; r < n; ++r)
    for (int j = 0; j < k; ++j) b[at(tb, r, j)] = __float2half(float(int(bits_of(r * k + j, 2) % 9) - 4));
  CUtensorMap ma, mb, mc;
  expect(ta.encode(ma, a.data) == CUDA_SUCCESS && tb.encode(mb, b.data) == CUDA_SUCCESS &&
             tc.encode(mc, c.data) == CUDA_SUCCESS,
         "maps of a product");
  constexpr int bytes = 4 * kTile * kDepth * 2;
  CHECK_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  multiply<<<dim3((n + 63) / 64, (m + 63) / 64), 128, bytes>>>(ma, mb, mc, (k + kDepth - 1) / kDepth);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (int r = 0; r < m; ++r) {
    for (int j = 0; j < n; ++j) {
      float want = 0;
      for (int e = 0; e < k; ++e) want += __half2float(a[at(ta, r, e)]) * __half2float(b[at(tb, j, e)]);
      ok &= c[at(tc, r, j)] == want;
    }
  }
  expect(ok, "a product of matrices with copies and products of warp groups in flight");
}

// --- maps that are refused ---

void refused_maps() {
  Managed<float> memory(4096);
  const auto result = [&](Tensor t, size_t offset = 0, unsigned alter = 0) {
    alignas(64) CUtensorMap map;
    cuuint64_t stride[] = {t.rank() > 1 ? t.pitch(1) + alter : 0};
    std::vector<cuuint32_t> steps = t.step;
    steps.resize(t.rank(), 1);
    return encoder()(&map, t.type, t.rank(), reinterpret_cast<char*>(memory.data) + offset, t.size.data(),
                     stride, t.box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
  };
  const Tensor good = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {20, 12}, {8, 6}};
  expect(result(good) == CUDA_SUCCESS, "a map that is right");
  expect(result(good, 8) == CUDA_ERROR_INVALID_VALUE, "an address that is no multiple of 16");
  expect(result(good, 0, 4) == CUDA_ERROR_INVALID_VALUE, "a stride that is no multiple of 16");
  Tensor t = good;
  t.box = {8, 257};
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "a box of more than 256");
  t.box = {7, 6};
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "a row of a box that is no multiple of 16 bytes");
  t.box = {16, 6};
  t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "a row that is longer than the swizzle's");
  t = good;
  t.size = {20, 0};
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "a size of 0");
  t = good;
  t.step = {1, 9};
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "an element stride of 9");
  t = good;
  t.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  expect(result(t) == CUDA_ERROR_INVALID_VALUE, "NaN for integers");
}

// --- mistakes ---

// clang-format off
__global__ void load_wrongly(const __grid_constant__ CUtensorMap map, int offset, int x, int bytes, float* out) {
  __shared__ __align__(128) float tile[64];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    prepare(&barrier, unsigned(bytes));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile) + unsigned(offset)), "l"(&map), "r"(x), "r"(0), "r"(shared_address(&barrier)) : "memory");  // MISTAKE misaligned_tile unaligned_start tile_overrun no_map tensor_overrun
  }
  __syncthreads();
  wait_for(&barrier, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void load_without_wait(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ __align__(128) float tile[64];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    prepare(&barrier, 256);
    load_box(2, &map, {{0, 0}}, tile, &barrier);
  }
  out[threadIdx.x] = tile[threadIdx.x];  // MISTAKE no_wait
}
// clang-format on

int mistake(const std::string& name) {
  const bool is_small = name == "tensor_overrun";
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {16, 8}, {16, 4}};
  if (name == "tile_overrun") t.box = {16, 8};
  float *tensor, *out;
  CHECK_CUDA(cudaMalloc(&tensor, is_small ? 200 : t.bytes()));
  CHECK_CUDA(cudaMemset(tensor, 0, is_small ? 200 : t.bytes()));
  CHECK_CUDA(cudaMalloc(&out, 256));
  CUtensorMap map = {};
  if (name != "no_map" && t.encode(map, tensor) != CUDA_SUCCESS) return 1;
  if (name == "store_before_tensor") {
    store_kernel<<<1, 64, t.box_bytes()>>>(map, 2, Place{{0, -1}}, t.box_bytes(),
                                           reinterpret_cast<unsigned char*>(tensor));
  } else if (name == "no_wait") {
    load_without_wait<<<1, 64>>>(map, out);
  } else {
    load_wrongly<<<1, 64>>>(map, name == "misaligned_tile" ? 16 : 0, name == "unaligned_start" ? 1 : 0,
                            int(t.box_bytes()), out);
  }
  std::printf("%d\n", int(cudaDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "refused") {
    refused_maps();
    return g_failures;
  }
  if (argc > 1 && std::string(argv[1]) != "sm_90") return mistake(argv[1]);
  loads_and_stores();
  reductions();
  clusters();
  changed_maps();
  product();
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
