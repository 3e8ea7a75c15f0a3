// Attributes of kernels and occupancy.
#include <cuda_runtime_api.h>

#include "cudart/errors.h"
#include "cudart/function_attributes.h"
#include "cudart/kernel_call.h"
#include "cudart/kernels.h"

using namespace warpgrade::cudart;

namespace {

using ClusterQuery = cudaError_t (Backend::*)(const LaunchCall&, int&);

cudaError_t ask_of_clusters(ClusterQuery query, int* answer, const void* function,
                            const cudaLaunchConfig_t* config) {
  CUDART_RETURN_IF_STICKY();
  if (answer == nullptr || config == nullptr) return record(cudaErrorInvalidValue);
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  const KernelCall asked = kernel_call(*config, function);
  LaunchCall call = configuration_of(kernel->id, asked);
  call.attributes = asked.attributes;
  return record((backend().*query)(call, *answer));
}

}  // namespace

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  CUDART_RETURN_IF_STICKY();
  Kernel* kernel = nullptr;
  if (const cudaError_t error = Registry::instance().resolve(function, &kernel); error != cudaSuccess)
    return record(error);
  *attributes = function_attributes(kernel->facts);
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

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return ask_of_clusters(&Backend::active_clusters, clusters, function, config);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return ask_of_clusters(&Backend::largest_cluster, blocks, function, config);
}

}  // extern "C"
