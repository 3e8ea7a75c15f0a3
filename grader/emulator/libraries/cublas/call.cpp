#include "cublas/call.h"

#include <cuda_runtime_api.h>

namespace warpgrade::cublas {

void Call::from_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t rows) {
  if (is_rehearsal_) return;  // what the matrix was made with
  move(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDeviceToHost);
}

void Call::to_device(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                     size_t rows) {
  if (is_rehearsal_) return;
  move(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyHostToDevice);
}

void Call::move(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                cudaMemcpyKind kind) {
  const cudaError_t error =
      rows == 1 ? cudaMemcpyAsync(to, from, width, kind, context_.stream)
                : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, context_.stream);
  // The host's memory is pageable: the copy is done. In a graph nobody waits, so that branches stay without an order.
  if (error != cudaSuccess || (!is_in_graph_ && cudaStreamSynchronize(context_.stream) != cudaSuccess))
    throw Failure{CUBLAS_STATUS_EXECUTION_FAILED};
}

void Call::require_no_capture() const {
  if (is_rehearsal_ && cudaStreamSynchronize(context_.stream) != cudaSuccess)
    throw Failure{CUBLAS_STATUS_EXECUTION_FAILED};
}

}  // namespace warpgrade::cublas
