// What the opaque structures of cublasLt.h hold. A program may have them on its own stack, so none owns anything.
#pragma once
// CUDA 12's header wants it from whoever includes it, as cublas_v2.h does; empty: for the host alone.
#ifndef CUBLASAPI
#define CUBLASAPI
#endif
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

struct cublasLtContext {};  // a cublasHandle_t may stand for one: nobody looks into it

namespace warpgrade::cublaslt {

struct Layout {
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int32_t batch_count = 1;
  uint32_t batch_mode = 0;
  int64_t batch_stride = 0, plane_offset = 0;
};

struct Operation {
  int32_t compute_type = CUBLAS_COMPUTE_32F, scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N, op_c = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int64_t aux_ld = 0, aux_stride = 0, alpha_stride = 0;
  const void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr;
  void *amax_d = nullptr, *out_scale_d = nullptr;
  const void* aux_scale = nullptr;
  void* aux_amax = nullptr;
  void* emulation = nullptr;
  int32_t multiprocessors = 0;
  int32_t bias_type = -1, aux_type = -1;
  int32_t scale_mode_a = 0, scale_mode_b = 0, scale_mode_c = 0, scale_mode_d = 0, aux_scale_mode = 0,
          out_scale_mode_d = 0;
  int8_t fast_accumulation = 0;
};

struct Transform {
  int32_t scale_type = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
};

struct Preference {
  uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint64_t most_workspace = 0;
  uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float most_waves = 0;
  uint64_t implementations = ~uint64_t{0};
};

// There is one algorithm. What a program configures is kept and has no effect.
struct Algorithm {
  int32_t id = 0;
  uint32_t tile = 0;
  int32_t splits = 1;
  uint32_t reduction_scheme = 0, swizzling = 0, custom_option = 0, stages = 0;
  uint16_t inner_shape = 0, cluster_shape = 0;
};

// What a program's opaque structure holds.
template <class Structure>
Structure held_in(const void* opaque) {
  Structure copy;
  std::memcpy(static_cast<void*>(&copy), opaque, sizeof copy);
  return copy;
}

// One attribute of such a structure.
struct Field {
  int attribute;
  size_t offset, size;
};
#define CUBLASLT_FIELD(Structure, attribute, member) \
  { attribute, offsetof(Structure, member), sizeof(Structure::member) }

template <size_t kCount>
const Field* find_field(const Field (&fields)[kCount], int attribute) {
  for (const Field& field : fields)
    if (field.attribute == attribute) return &field;
  return nullptr;
}

cublasStatus_t set_field(void* structure, const Field* field, const void* from, size_t size);
// `size` 0 asks how many bytes there are.
cublasStatus_t get_field(const void* structure, const Field* field, void* to, size_t size, size_t* written);

}  // namespace warpgrade::cublaslt
