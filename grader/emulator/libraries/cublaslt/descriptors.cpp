// Descriptors: made, changed and asked as NVIDIA's library does it, which needs no GPU for them
// (grader/tests/test_cublaslt.py asks both).
#include "cublaslt/descriptors.h"

#include <new>

namespace warpgrade::cublaslt {

cublasStatus_t set_field(void* structure, const Field* field, const void* from, size_t size) {
  if (structure == nullptr || field == nullptr || from == nullptr || size != field->size)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<char*>(structure) + field->offset, from, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get_field(const void* structure, const Field* field, void* to, size_t size, size_t* written) {
  if (structure == nullptr || field == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size == 0 ? written == nullptr : to == nullptr || size != field->size)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (written != nullptr) *written = field->size;
  if (size != 0) std::memcpy(to, static_cast<const char*>(structure) + field->offset, size);
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

constexpr Field kLayoutFields[] = {
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_COLS, columns),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_LD, ld),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch_count),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride),
    CUBLASLT_FIELD(Layout, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, plane_offset),
    CUBLASLT_FIELD(Layout, 8, batch_mode),  // CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, which older headers lack
};

// By number are those that older headers lack.
constexpr Field kOperationFields[] = {
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute_type),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_TRANSA, op_a),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_TRANSB, op_b),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_TRANSC, op_c),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_FILL_MODE, fill_mode),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_stride),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, multiprocessors),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_a),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_b),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, scale_c),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, scale_d),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, amax_d),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, aux_scale),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, aux_amax),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast_accumulation),
    CUBLASLT_FIELD(Operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
    CUBLASLT_FIELD(Operation, 31, scale_mode_a),
    CUBLASLT_FIELD(Operation, 32, scale_mode_b),
    CUBLASLT_FIELD(Operation, 33, scale_mode_c),
    CUBLASLT_FIELD(Operation, 34, scale_mode_d),
    CUBLASLT_FIELD(Operation, 35, aux_scale_mode),
    CUBLASLT_FIELD(Operation, 36, out_scale_d),
    CUBLASLT_FIELD(Operation, 37, out_scale_mode_d),
    CUBLASLT_FIELD(Operation, 38, emulation),
};

constexpr Field kTransformFields[] = {
    CUBLASLT_FIELD(Transform, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, scale_type),
    CUBLASLT_FIELD(Transform, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, pointer_mode),
    CUBLASLT_FIELD(Transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, op_a),
    CUBLASLT_FIELD(Transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, op_b),
};

constexpr Field kPreferenceFields[] = {
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, search_mode),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_schemes),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_a),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_b),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_c),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_d),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, most_waves),
    CUBLASLT_FIELD(Preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, implementations),
};

#if CUBLAS_VERSION >= 130100
struct Emulation {
  int32_t strategy = 0, special_values = 0xffff, mantissa_control = 0, most_mantissa_bits = 0,
          mantissa_offset = 0;
  void* mantissa_bits = nullptr;
};

constexpr Field kEmulationFields[] = {
    CUBLASLT_FIELD(Emulation, 0, strategy),         CUBLASLT_FIELD(Emulation, 1, special_values),
    CUBLASLT_FIELD(Emulation, 2, mantissa_control), CUBLASLT_FIELD(Emulation, 3, most_mantissa_bits),
    CUBLASLT_FIELD(Emulation, 4, mantissa_offset),  CUBLASLT_FIELD(Emulation, 5, mantissa_bits),
};
#endif

// Puts the structure into the program's memory.
template <class Opaque, class Structure>
cublasStatus_t init(Opaque* to, size_t size, const Structure& value) {
  static_assert(sizeof(Structure) <= sizeof(Opaque) && alignof(Structure) <= alignof(Opaque));
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof(Structure)) return CUBLAS_STATUS_ALLOC_FAILED;
  new (to) Structure(value);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque, class Structure>
cublasStatus_t create(Opaque** made, const Structure& value) {
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *made = new (std::nothrow) Opaque{};
  return *made == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : init(*made, sizeof(Opaque), value);
}

Layout layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  Layout made;
  made.type = static_cast<uint32_t>(type);
  made.rows = rows;
  made.columns = columns;
  made.ld = ld;
  return made;
}

Operation operation(cublasComputeType_t compute, cudaDataType_t scale) {
  Operation made;
  made.compute_type = compute;
  made.scale_type = scale;
  return made;
}

Transform transform(cudaDataType scale) {
  Transform made;
  made.scale_type = scale;
  return made;
}

}  // namespace
}  // namespace warpgrade::cublaslt

using namespace warpgrade::cublaslt;

extern "C" {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t to, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t ld) {
  return init(to, size, layout(type, rows, columns, ld));
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  return create(made, layout(type, rows, columns, ld));
}
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t to, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  return init(to, size, operation(compute, scale));
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return create(made, operation(compute, scale));
}
cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t to, size_t size,
                                                        cudaDataType scale) {
  return init(to, size, transform(scale));
}
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* made, cudaDataType scale) {
  return create(made, transform(scale));
}
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t to, size_t size) {
  return init(to, size, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return create(made, Preference{});
}

#define DESCRIPTOR(Name, Handle, Attributes, fields)                                                     \
  cublasStatus_t cublasLt##Name##Destroy(Handle descriptor) {                                            \
    delete descriptor;                                                                                   \
    return CUBLAS_STATUS_SUCCESS;                                                                        \
  }                                                                                                      \
  cublasStatus_t cublasLt##Name##SetAttribute(Handle descriptor, Attributes attribute, const void* from, \
                                              size_t size) {                                             \
    return set_field(descriptor, find_field(fields, attribute), from, size);                             \
  }                                                                                                      \
  cublasStatus_t cublasLt##Name##GetAttribute(Handle descriptor, Attributes attribute, void* to,         \
                                              size_t size, size_t* written) {                            \
    return get_field(descriptor, find_field(fields, attribute), to, size, written);                      \
  }
DESCRIPTOR(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, kLayoutFields)
DESCRIPTOR(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, kOperationFields)
DESCRIPTOR(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t,
           kTransformFields)
DESCRIPTOR(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
           kPreferenceFields)

// Emulated floating point has at most the precision of what it stands for: its descriptor has no effect here.
#if CUBLAS_VERSION >= 130100
cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t to, size_t size) {
  return init(to, size, Emulation{});
}
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t* made) {
  return create(made, Emulation{});
}
DESCRIPTOR(EmulationDesc, cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t, kEmulationFields)
#endif

}  // extern "C"
