#include "runtime/errors.h"

#include <atomic>

namespace warpgrade::emu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> sticky_error{cudaSuccess};

}  // namespace

cudaError_t record(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

void set_sticky(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  sticky_error.compare_exchange_strong(none, error);
}

cudaError_t sticky() {
  return sticky_error.load();
}

cudaError_t take_last_error() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t peek_last_error() {
  return last_error;
}

}  // namespace warpgrade::emu
