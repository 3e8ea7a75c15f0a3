#include "cudart/errors.h"

#include "cudart/backend.h"

namespace warpgrade::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t sticky() {
  return backend().sticky();
}

cudaError_t peek_last_error() {
  record(backend().take_late_error());
  return last_error;
}

cudaError_t take_last_error() {
  const cudaError_t error = peek_last_error();
  last_error = cudaSuccess;
  return error;
}

}  // namespace warpgrade::cudart
