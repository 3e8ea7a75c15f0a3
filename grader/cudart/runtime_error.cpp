// cudaGetLastError and the names and descriptions of errors.
#include <cuda_runtime_api.h>

#include "cudart/errors.h"

extern "C" {

cudaError_t cudaGetLastError() {
  return warpgrade::cudart::take_last_error();
}
cudaError_t cudaPeekAtLastError() {
  return warpgrade::cudart::peek_last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  return warpgrade::cudart::error_name(error);
}

const char* cudaGetErrorString(cudaError_t error) {
  return warpgrade::cudart::error_text(error);
}

}  // extern "C"
