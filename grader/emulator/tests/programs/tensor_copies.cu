// Copies of tensors through maps (TMA, sm_90a) against loops on the host: every rank, element size, swizzle,
// boxes that leave the tensor, element strides; loads and stores. With an argument: one mistake, at the line
// that carries MISTAKE <argument>; prints the error that the program sees.
#include <algorithm>
#include <string>
#include <vector>

#include "tensor_maps.h"

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
  for_each_element(written_whole(t), at, [&](unsigned in_box, size_t in_tensor) {
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
    load_box(2, &map, {{0, 0}}, tile, &barrier);  // MISTAKE no_wait
  }
  out[threadIdx.x] = tile[threadIdx.x];
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
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
