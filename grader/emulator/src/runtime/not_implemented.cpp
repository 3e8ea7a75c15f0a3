// What the stubs of unimplemented runtime functions call (cmake/GenerateStubs.cmake).
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <string>

#include "report/diagnostics.h"
#include "runtime/errors.h"
#include "runtime/host_place.h"

extern "C" cudaError_t warpemu_not_implemented(const char* name) {
  static std::mutex mutex;
  static std::set<std::string> reported;
  std::lock_guard lock(mutex);
  if (reported.insert(name).second) {
    warpgrade::emu::Diagnostic d;
    d.kind = warpgrade::emu::Finding::unsupported;
    d.message = std::string("emulator: unsupported call of ") + name;
    d.advice = "This function of the CUDA runtime needs a GPU.";
    warpgrade::emu::add_host_diagnostic(std::move(d));
  }
  return warpgrade::emu::record(cudaErrorNotSupported);
}
