#include "judge/executor/driver/driver_api.h"

#include <dlfcn.h>

#include <stdexcept>

namespace warpgrade::executor {
namespace {

void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr)
    throw std::runtime_error(std::string("NVIDIA's driver has no ") + name +
                             ": it is older than CUDA 12.4 wants");
  return found;
}

// cuda.h maps names to versions of functions by macros: the text is taken of what they stand for.
#define WARPGRADE_TEXT(name) #name
#define WARPGRADE_EXPANDED_TEXT(name) WARPGRADE_TEXT(name)

DriverApi load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("there is no GPU driver here: ") + dlerror());
  DriverApi api;
#define X(name) \
  api.name##_ = reinterpret_cast<decltype(api.name##_)>(symbol(library, WARPGRADE_EXPANDED_TEXT(name)));
  WARPGRADE_DRIVER_CALLS(X)
#undef X
  api.cuCtxRecordEvent_ =
      reinterpret_cast<decltype(api.cuCtxRecordEvent_)>(dlsym(library, "cuCtxRecordEvent"));
  return api;
}

}  // namespace

const DriverApi& driver_api() {
  static const DriverApi api = load();
  return api;
}

std::string name_of(CUresult result) {
  const char* name = nullptr;
  if (driver_api().cuGetErrorName_(result, &name) != CUDA_SUCCESS || name == nullptr)
    return "error " + std::to_string(result);
  return name;
}

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + ": " + name_of(result));
}

}  // namespace warpgrade::executor
