// What is common to products and transforms: matrices of any order from and to the device's memory, refusals.
#pragma once
#include <string>

#include "cublas/elements.h"
#include "cublaslt/descriptors.h"

namespace warpgrade::cublaslt {

using cublas::Call;
using cublas::Matrix;

// Says once why a call fails, and ends it.
[[noreturn]] void refuse(const char* function, const std::string& why,
                         cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE);
inline void require(bool holds, const char* function, const std::string& why,
                    cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  if (!holds) refuse(function, why, status);
}
// What NVIDIA's library has and the emulator does not: CUBLAS_STATUS_NOT_SUPPORTED.
[[noreturn]] void leave_out(const char* function, const std::string& what);
inline void require_here(bool holds, const char* function, const std::string& what) {
  if (!holds) leave_out(function, what);
}

// A descriptor as the functions get it. `name` is the matrix's name in what a refusal says.
Layout layout_of(const cublasLtMatrixLayoutOpaque_t* descriptor, const char* function, const char* name);

// Where matrix `index` of a batch begins.
const void* matrix_at(Call& call, const Layout& layout, const void* first, int64_t index);

template <class T>
Matrix<T> load(Call& call, const Layout& layout, const void* at);
template <class T>
void store(Call& call, const Layout& layout, void* at, const Matrix<T>& m);

// Runs `work` as a call of cuBLAS in the stream, with scalars on the host or the device.
template <class Work>
cublasStatus_t run(cublasLtHandle_t handle, cudaStream_t stream, int32_t pointer_mode, const Work& work) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  cublasContext context;
  context.stream = stream;
  context.pointer_mode =
      pointer_mode == CUBLASLT_POINTER_MODE_HOST ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE;
  return cublas::run(&context, work);
}

}  // namespace warpgrade::cublaslt
