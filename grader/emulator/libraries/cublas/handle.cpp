// Handles, modes, and copies between host and device.
#include <cuda_runtime_api.h>

#include <new>

#include "cublas/call.h"

using namespace warpgrade::cublas;

namespace {

template <class Get>
cublasStatus_t with(cublasHandle_t handle, Get get) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  get(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

// n elements of `bytes` every `to_step` and `from_step` elements: rows of one element.
template <class I>
cublasStatus_t copy_vector(I n, I bytes, const void* from, I from_step, void* to, I to_step,
                           cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  if (n < 0 || bytes <= 0 || from_step <= 0 || to_step <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  const auto size = static_cast<size_t>(bytes), count = static_cast<size_t>(n);
  const bool dense = from_step == 1 && to_step == 1;
  if (dense)
    return status_of(waits ? cudaMemcpy(to, from, size * count, kind)
                           : cudaMemcpyAsync(to, from, size * count, kind, stream));
  const size_t to_pitch = size * static_cast<size_t>(to_step),
               from_pitch = size * static_cast<size_t>(from_step);
  return status_of(waits ? cudaMemcpy2D(to, to_pitch, from, from_pitch, size, count, kind)
                         : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, size, count, kind, stream));
}

template <class I>
cublasStatus_t copy_matrix(I rows, I columns, I bytes, const void* from, I from_ld, void* to, I to_ld,
                           cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld < rows || to_ld < rows || from_ld <= 0 || to_ld <= 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const auto size = static_cast<size_t>(bytes);
  const size_t to_pitch = size * static_cast<size_t>(to_ld), from_pitch = size * static_cast<size_t>(from_ld);
  const size_t width = size * static_cast<size_t>(rows), height = static_cast<size_t>(columns);
  return status_of(waits ? cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind)
                         : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream));
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new (std::nothrow) cublasContext;
  return *handle != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
           : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                   : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return with(handle, [](auto&) {});
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with(handle, [&](cublasContext& c) { c.stream = stream; });
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return with(handle, [&](cublasContext& c) { *stream = c.stream; });
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with(handle, [&](cublasContext& c) { c.pointer_mode = mode; });
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return with(handle, [&](cublasContext& c) { *mode = c.pointer_mode; });
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return with(handle, [&](cublasContext& c) { c.atomics_mode = mode; });
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return with(handle, [&](cublasContext& c) { *mode = c.atomics_mode; });
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with(handle, [&](cublasContext& c) { c.math_mode = mode; });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return with(handle, [&](cublasContext& c) { *mode = c.math_mode; });
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return with(handle, [&](cublasContext& c) { c.multiprocessors = count; });
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return with(handle, [&](cublasContext& c) { *count = c.multiprocessors; });
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define NAME(s) \
  case s:       \
    return #s
    NAME(CUBLAS_STATUS_SUCCESS);
    NAME(CUBLAS_STATUS_NOT_INITIALIZED);
    NAME(CUBLAS_STATUS_ALLOC_FAILED);
    NAME(CUBLAS_STATUS_INVALID_VALUE);
    NAME(CUBLAS_STATUS_ARCH_MISMATCH);
    NAME(CUBLAS_STATUS_MAPPING_ERROR);
    NAME(CUBLAS_STATUS_EXECUTION_FAILED);
    NAME(CUBLAS_STATUS_INTERNAL_ERROR);
    NAME(CUBLAS_STATUS_NOT_SUPPORTED);
    NAME(CUBLAS_STATUS_LICENSE_ERROR);
#undef NAME
  }
  return "CUBLAS_STATUS_UNKNOWN";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was used as an argument";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the operation needs a feature that the device does not have";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to device memory failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the operation failed to run on the device";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the operation is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "an error of the licence";
  }
  return "an unknown status";
}

#define COPIES(I, s)                                                                                        \
  cublasStatus_t cublasSetVector##s(I n, I bytes, const void* from, I from_step, void* to, I to_step) {     \
    return copy_vector(n, bytes, from, from_step, to, to_step, cudaMemcpyHostToDevice, nullptr, true);      \
  }                                                                                                         \
  cublasStatus_t cublasGetVector##s(I n, I bytes, const void* from, I from_step, void* to, I to_step) {     \
    return copy_vector(n, bytes, from, from_step, to, to_step, cudaMemcpyDeviceToHost, nullptr, true);      \
  }                                                                                                         \
  cublasStatus_t cublasSetVectorAsync##s(I n, I bytes, const void* from, I from_step, void* to, I to_step,  \
                                         cudaStream_t stream) {                                             \
    return copy_vector(n, bytes, from, from_step, to, to_step, cudaMemcpyHostToDevice, stream, false);      \
  }                                                                                                         \
  cublasStatus_t cublasGetVectorAsync##s(I n, I bytes, const void* from, I from_step, void* to, I to_step,  \
                                         cudaStream_t stream) {                                             \
    return copy_vector(n, bytes, from, from_step, to, to_step, cudaMemcpyDeviceToHost, stream, false);      \
  }                                                                                                         \
  cublasStatus_t cublasSetMatrix##s(I rows, I columns, I bytes, const void* from, I from_ld, void* to,      \
                                    I to_ld) {                                                              \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyHostToDevice, nullptr,     \
                       true);                                                                               \
  }                                                                                                         \
  cublasStatus_t cublasGetMatrix##s(I rows, I columns, I bytes, const void* from, I from_ld, void* to,      \
                                    I to_ld) {                                                              \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyDeviceToHost, nullptr,     \
                       true);                                                                               \
  }                                                                                                         \
  cublasStatus_t cublasSetMatrixAsync##s(I rows, I columns, I bytes, const void* from, I from_ld, void* to, \
                                         I to_ld, cudaStream_t stream) {                                    \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyHostToDevice, stream,      \
                       false);                                                                              \
  }                                                                                                         \
  cublasStatus_t cublasGetMatrixAsync##s(I rows, I columns, I bytes, const void* from, I from_ld, void* to, \
                                         I to_ld, cudaStream_t stream) {                                    \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyDeviceToHost, stream,      \
                       false);                                                                              \
  }
COPIES(int, )
COPIES(int64_t, _64)

}  // extern "C"
