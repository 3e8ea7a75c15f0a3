// Handles, statuses, versions, what the library logs (nothing).
#include <cstdio>
#include <new>

#include "cublaslt/descriptors.h"

namespace {

struct StatusText {
  cublasStatus_t status;
  const char *name, *text;
};
constexpr StatusText kStatuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

const StatusText& texts_of(cublasStatus_t status) {
  static constexpr StatusText kUnknown{CUBLAS_STATUS_SUCCESS, "unrecognized status", "unrecognized status"};
  for (const StatusText& known : kStatuses)
    if (known.status == status) return known;
  return kUnknown;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new (std::nothrow) cublasLtContext;
  return *handle != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  return texts_of(status).name;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return texts_of(status).text;
}
size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}
size_t cublasLtGetCudartVersion() {
  return CUDART_VERSION;
}
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
           : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                   : CUBLAS_VER_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetFile(FILE*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerOpenFile(const char*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetLevel(int) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetMask(int) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerForceDisable() {
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
