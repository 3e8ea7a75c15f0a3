// What the emulator leaves out, one feature an argument: the line that must be named carries LEFT OUT
// <argument>. Prints the error that the launch or the call returned. For sm_90a, where all of it exists.
#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"

// A statement of several lines lies at one of them, which the compiler chooses: these stand on one.
// clang-format off
__global__ void surface_reduction(cudaSurfaceObject_t s) {
  asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %1}], %1;" ::"l"(s), "r"(0) : "memory");  // LEFT OUT surface_reduction
}
__global__ void formatted_surface(cudaSurfaceObject_t s) {
  asm volatile("sust.p.2d.b32.trap [%0, {%1, %1}], {%1};" ::"l"(s), "r"(0) : "memory");  // LEFT OUT formatted_surface
}
__global__ void image_to_columns(const void* map) {
  __shared__ __align__(128) float tile[64];
  __shared__ uint64_t barrier;
  const auto to = unsigned(__cvta_generic_to_shared(tile)), at = unsigned(__cvta_generic_to_shared(&barrier));
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2}], [%3], {%4};" ::"r"(to), "l"(map), "r"(0), "r"(at), "h"(short(0)) : "memory");  // LEFT OUT image_to_columns
}
__global__ void async_store() {
  __shared__ uint64_t cell, barrier;
  const auto to = unsigned(__cvta_generic_to_shared(&cell)), at = unsigned(__cvta_generic_to_shared(&barrier));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %0, [%1];" ::"r"(to), "r"(at) : "memory");  // LEFT OUT async_store
}
__global__ void sparse_product(unsigned* out) {
  unsigned a = out[0], d0 = 0, d1 = 0;
  asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%0,%1}, {%2,%2}, {%2,%2}, {%0,%1,%0,%1}, %3, 0x0;" : "+r"(d0), "+r"(d1) : "r"(a), "r"(0u));  // LEFT OUT sparse_product
  out[2] = d0 + d1;
}
// clang-format on
__global__ void video(int* out) {
  int r;
  asm volatile("vadd.s32.s32.s32.sat %0, %1, %2;" : "=r"(r) : "r"(out[0]), "r"(out[1]));  // LEFT OUT video
  out[2] = r;
}
__global__ void packing_conversion(int* out) {
  int r;
  asm volatile("cvt.pack.sat.s16.s32 %0, %1, %2;"
               : "=r"(r)
               : "r"(out[0]), "r"(out[1]));  // LEFT OUT packing_conversion
  out[2] = r;
}
__global__ void vector_maximum(void* out) {
  asm volatile("red.global.max.noftz.v2.f16x2 [%0], {%1,%1};" ::"l"(out), "r"(1));  // LEFT OUT vector_maximum
}
cudaError_t create_mipmaps() {
  cudaMipmappedArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  return cudaMallocMipmappedArray(&array, &format, {16, 16, 0}, 3);  // LEFT OUT mipmapped_array
}
cudaError_t share_memory(float* memory) {
  cudaIpcMemHandle_t handle;
  return cudaIpcGetMemHandle(&handle, memory);  // LEFT OUT ipc
}
cudaError_t signal_in_graph() {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  const cudaExternalSemaphoreSignalNodeParams params = {};
  return cudaGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, &params);  // LEFT OUT semaphore
}

cudaError_t make_narrow_box(float* memory) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  CHECK_CUDA(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  const auto encode = reinterpret_cast<Encode>(found);
  CUtensorMap map;
  const cuuint64_t size[] = {64, 64}, stride[] = {256};
  const cuuint32_t box[] = {16, 8}, step[] = {1, 1};
  // clang-format off
  return cudaError_t(encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));  // LEFT OUT narrow_box
  // clang-format on
}

int main(int, char** argv) {
  const auto is = [&](const char* name) { return !std::strcmp(argv[1], name); };
  float* out;
  CHECK_CUDA(cudaMalloc(&out, 1024));
  cudaError_t error = cudaSuccess;
  if (is("surface_reduction")) surface_reduction<<<1, 32>>>(0);
  if (is("formatted_surface")) formatted_surface<<<1, 32>>>(0);
  if (is("image_to_columns")) image_to_columns<<<1, 1>>>(out);
  if (is("narrow_box")) error = make_narrow_box(out);
  if (is("async_store")) async_store<<<1, 1>>>();
  if (is("sparse_product")) sparse_product<<<1, 32>>>(reinterpret_cast<unsigned*>(out));
  if (is("video")) video<<<1, 32>>>(reinterpret_cast<int*>(out));
  if (is("packing_conversion")) packing_conversion<<<1, 32>>>(reinterpret_cast<int*>(out));
  if (is("vector_maximum")) vector_maximum<<<1, 1>>>(out);
  if (is("mipmapped_array")) error = create_mipmaps();
  if (is("ipc")) error = share_memory(out);
  if (is("semaphore")) error = signal_in_graph();
  std::printf("%d\n", int(error != cudaSuccess ? error : cudaGetLastError()));
  return 0;
}
