// Attributes of kernels and occupancy.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "device/device_model.h"
#include "runtime/errors.h"
#include "runtime/modules.h"
#include "runtime/occupancy.h"

namespace warpgrade::emu {
namespace {

// The kernel and its program, or the error to return.
cudaError_t find(const void* function, Kernel** kernel, const Program** program) {
  *kernel = Modules::instance().find_kernel(function);
  if (*kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *program = Modules::instance().program(**kernel);
  return *program == nullptr ? cudaErrorNotSupported : cudaSuccess;
}

int default_dynamic_shared(const Program& program) {
  return static_cast<int>(kSharedPerBlock - std::min<size_t>(kSharedPerBlock, program.static_shared_bytes));
}

}  // namespace
}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  WARPEMU_RETURN_IF_STICKY();
  Kernel* kernel;
  const Program* program;
  if (const cudaError_t error = find(function, &kernel, &program); error != cudaSuccess) return record(error);
  *attributes = {};
  attributes->sharedSizeBytes = program->static_shared_bytes;
  attributes->localSizeBytes = program->local_bytes;
  attributes->maxThreadsPerBlock = static_cast<int>(program->max_threads);
  attributes->numRegs = static_cast<int>(std::min<uint32_t>(program->register_count, 255));
  // CUB compares these with the architectures it was compiled for.
  attributes->ptxVersion = attributes->binaryVersion = static_cast<int>(program->module->target);
  attributes->maxDynamicSharedSizeBytes =
      kernel->max_dynamic_shared >= 0 ? kernel->max_dynamic_shared : default_dynamic_shared(*program);
  attributes->preferredShmemCarveout = kernel->preferred_carveout;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  WARPEMU_RETURN_IF_STICKY();
  Kernel* kernel;
  const Program* program;
  if (const cudaError_t error = find(function, &kernel, &program); error != cudaSuccess) return record(error);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const size_t limit = device_model().shared_per_block_optin - program->static_shared_bytes;
    if (value < 0 || static_cast<size_t>(value) > limit) return record(cudaErrorInvalidValue);
    kernel->max_dynamic_shared = value;
  } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    kernel->preferred_carveout = value;
  }
  return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  Kernel* kernel = Modules::instance().find_kernel(function);
  if (kernel == nullptr) return record(cudaErrorInvalidDeviceFunction);
  *name = kernel->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t dynamic_shared,
                                                                   unsigned) {
  WARPEMU_RETURN_IF_STICKY();
  Kernel* kernel;
  const Program* program;
  if (const cudaError_t error = find(function, &kernel, &program); error != cudaSuccess) return record(error);
  *blocks = max_active_blocks(*program, threads, dynamic_shared);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int) {
  Kernel* kernel;
  const Program* program;
  if (const cudaError_t error = find(function, &kernel, &program); error != cudaSuccess) return record(error);
  if (blocks <= 0) return record(cudaErrorInvalidValue);
  const size_t share = device_model().shared_per_multiprocessor / static_cast<size_t>(blocks);
  const size_t limit = std::min(share, device_model().shared_per_block_optin);
  *bytes = limit > program->static_shared_bytes ? limit - program->static_shared_bytes : 0;
  return cudaSuccess;
}

}  // extern "C"
