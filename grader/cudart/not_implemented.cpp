// What the stubs of unimplemented runtime functions call (GenerateStubs.cmake).
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <string>

#include "cudart/backend.h"
#include "cudart/errors.h"

extern "C" cudaError_t cudart_not_implemented(const char* name) {
  using namespace warpgrade::cudart;
  static std::mutex mutex;
  // Never destroyed: programs call the runtime in their own static destructors.
  static auto& reported = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (reported.insert(name).second) {
    HostFinding finding;
    finding.message = std::string("unsupported call of ") + name;
    finding.advice = "This function of the CUDA runtime needs a GPU.";
    backend().report(finding);
  }
  return record(cudaErrorNotSupported);
}
