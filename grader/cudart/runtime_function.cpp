// Attributes of kernels and occupancy.
#include <cuda_runtime_api.h>

#include "cudart/errors.h"
#include "cudart/kernels.h"

using namespace warpgrade::cudart;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  CUDART_RETURN_IF_STICKY();
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  const KernelFacts& facts = kernel->facts;
  *attributes = {};
  attributes->sharedSizeBytes = static_cast<size_t>(facts.static_shared);
  attributes->constSizeBytes = static_cast<size_t>(facts.constant_bytes);
  attributes->localSizeBytes = static_cast<size_t>(facts.local_bytes);
  attributes->maxThreadsPerBlock = facts.max_threads;
  attributes->numRegs = facts.registers;
  attributes->ptxVersion = facts.ptx_version;
  attributes->binaryVersion = facts.binary_version;
  attributes->maxDynamicSharedSizeBytes = facts.max_dynamic_shared;
  attributes->preferredShmemCarveout = facts.preferred_carveout;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  CUDART_RETURN_IF_STICKY();
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  return record(backend().set_attribute(kernel->id, attribute, value, kernel->facts));
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  Kernel* kernel = Registry::instance().find_kernel(function);
  if (kernel == nullptr) return record(cudaErrorInvalidDeviceFunction);
  *name = kernel->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int threads, size_t dynamic_shared,
                                                                   unsigned flags) {
  CUDART_RETURN_IF_STICKY();
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  return record(backend().occupancy(kernel->id, threads, dynamic_shared, flags, *blocks));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  return record(backend().available_shared(kernel->id, blocks, threads, *bytes));
}

}  // extern "C"
