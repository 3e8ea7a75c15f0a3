// Initialization, versions, and the functions' addresses.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "driver/call.h"

namespace warpgrade::driver {
namespace {

std::atomic<bool> g_started{false};

// A form of a function: the version of CUDA that brought it, and its symbol.
struct Form {
  std::string_view name;
  int version;
  const char* symbol;
};
constexpr Form kForms[] = {
#include "driver_versions.h"
};

// A function of this library; nullptr when it has none.
void* own_function(const char* symbol) {
  static void* library = [] {
    Dl_info own;
    const bool known = dladdr(reinterpret_cast<void*>(&own_function), &own) != 0;
    return known ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  const bool is_drivers = std::strncmp(symbol, "cu", 2) == 0 && std::strncmp(symbol, "cuda", 4) != 0;
  return library != nullptr && is_drivers ? dlsym(library, symbol) : nullptr;
}

// The newest form that `version` has.
void* find(std::string_view name, int version, CUdriverProcAddressQueryResult& status) {
  status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  void* found = nullptr;
  bool is_known = false;
  for (const Form& form : kForms) {
    if (form.name != name) continue;
    is_known = true;
    if (form.version > version) continue;
    if (void* function = own_function(form.symbol)) found = function;
  }
  if (found == nullptr && !is_known) found = own_function(std::string(name).c_str());
  if (found != nullptr) status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (found == nullptr && is_known) status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  return found;
}

// The file name of the library or program that code lies in.
std::string_view file_of(const void* code) {
  Dl_info caller;
  return dladdr(code, &caller) != 0 ? basename(caller.dli_fname) : "";
}

}  // namespace

CUresult require_start() {
  return g_started || bridge().runtime_was_used() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace warpgrade::driver

using namespace warpgrade::driver;

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!bridge().is_allowed()) return CUDA_ERROR_NO_DEVICE;
  g_started = true;
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return result_of(cudaDriverGetVersion(version));
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  *function = find(symbol, version, result);
  if (status != nullptr) *status = result;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

// Private tables. NVIDIA's runtime cannot do without; NVRTC, nvJitLink, CUPTI and the like can.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  const std::string_view caller = file_of(__builtin_return_address(0));
  if (caller.starts_with("libcudart"))
    refuse(
        "cuGetExportTable",
        "NVIDIA's own CUDA runtime asks for this, a library that the program has loaded. Put the emulator's "
        "folder first in LD_LIBRARY_PATH, so that the program finds the emulator's libcudart.");
  else if (!caller.starts_with("libnv") && !caller.starts_with("libcu"))
    refuse("cuGetExportTable",
           "NVIDIA's own CUDA runtime asks for this: it is linked into the program. Build the program with "
           "`nvcc "
           "-cudart shared`, so that it finds the emulator's.");
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart() {
  return in_context([](Context&) { return CUDA_SUCCESS; });
}
CUresult cuProfilerStop() {
  return in_context([](Context&) { return CUDA_SUCCESS; });
}

}  // extern "C"
