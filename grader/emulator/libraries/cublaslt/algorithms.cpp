// What a program asks about algorithms. There is one, which takes all that the library computes and no workspace; it goes
// by any number, since programs carry numbers of NVIDIA's library with them.
#include "cublaslt/problem.h"

namespace warpgrade::cublaslt {
namespace {

constexpr Field kConfigurations[] = {
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_ID, id),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, tile),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, splits),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction_scheme),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzling),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom_option),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, inner_shape),
    CUBLASLT_FIELD(Algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster_shape),
};

struct Capabilities {
  int32_t splits = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_NONE, swizzling = 0;
  int32_t strided_batch = 1, out_of_place = 1, triangles = 0;
  uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED, stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  int32_t most_custom_option = 0, custom_order = 1;
  uint32_t pointer_modes = 0x1f;
  uint32_t epilogues = 0x3ff;
  int32_t negative_ld = 0;
  uint64_t implementation = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
  uint32_t alignment = 1;
  int32_t pointer_array_batch = 1, emulation = 0;
};

// By number are those that older headers lack.
constexpr Field kCapabilities[] = {
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, splits),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, reduction_schemes),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, swizzling),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, strided_batch),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, out_of_place),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_UPLO_SUPPORT, triangles),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_TILE_IDS, tile),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, most_custom_option),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER, custom_order),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, pointer_modes),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_EPILOGUE_MASK, epilogues),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_STAGES_IDS, stages),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_LD_NEGATIVE, negative_ld),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, implementation),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, alignment),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, alignment),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, alignment),
    CUBLASLT_FIELD(Capabilities, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, alignment),
    CUBLASLT_FIELD(Capabilities, 21, pointer_array_batch),
    CUBLASLT_FIELD(Capabilities, 22, emulation),
};

template <class Check>
cublasStatus_t guarded(cublasLtHandle_t handle, Check check) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  try {
    check();
  } catch (const cublas::Failure& failure) {
    return failure.status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// The algorithm as a heuristic gives it, configured as it is already or new.
cublasLtMatmulHeuristicResult_t found(const cublasLtMatmulAlgo_t* configured) {
  cublasLtMatmulHeuristicResult_t result{};
  if (configured != nullptr) {
    result.algo = *configured;
  } else {
    static_assert(sizeof(Algorithm) <= sizeof result.algo);
    const Algorithm fresh;
    std::memcpy(&result.algo, &fresh, sizeof fresh);
  }
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1.0F;
  return result;
}

}  // namespace
}  // namespace warpgrade::cublaslt

using namespace warpgrade::cublaslt;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  constexpr char kCall[] = "cublasLtMatmulAlgoGetHeuristic";
  if (count != nullptr) *count = 0;
  return guarded(handle, [&] {
    require(preference != nullptr, kCall, "the preference is a null pointer");
    require(wanted >= 1 && results != nullptr && count != nullptr, kCall,
            "no algorithm is asked for, or there is no place for it");
    checked_problem(kCall, operation, a, b, c, d);
    results[0] = found(nullptr);
    *count = 1;
  });
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  constexpr char kCall[] = "cublasLtMatmulAlgoCheck";
  return guarded(handle, [&] {
    require(algorithm != nullptr && result != nullptr, kCall,
            "the algorithm or the result is a null pointer");
    checked_problem(kCall, operation, a, b, c, d);
    *result = found(algorithm);
  });
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        int wanted, int ids[], int* count) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted < 1 || ids == nullptr || count == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  ids[0] = Algorithm{}.id;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* algorithm) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (id < 0 || algorithm == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm numbered;
  numbered.id = id;
  std::memcpy(algorithm, &numbered, sizeof numbered);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void* to,
                                                 size_t size, size_t* written) {
  static constexpr Capabilities kOfTheOne;
  if (algorithm == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return get_field(&kOfTheOne, find_field(kCapabilities, attribute), to, size, written);
}
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void* from, size_t size) {
  return set_field(algorithm, find_field(kConfigurations, attribute), from, size);
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* to,
                                                    size_t size, size_t* written) {
  return get_field(algorithm, find_field(kConfigurations, attribute), to, size, written);
}

}  // extern "C"
