// Maps of tensors (TMA, sm_90a), made on the host, and what programs with copies through them have in common.
#pragma once
#include <cuda.h>

#include <vector>

#include "check.h"

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

inline Encode encoder() {
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

// What stores and reductions write of the tensor: rows up to the end of the piece of 16 bytes that their last element
// lies in.
inline Tensor written_whole(Tensor t) {
  t.size[0] = (t.size[0] * t.element + 15) / 16 * 16 / t.element;
  return t;
}

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
