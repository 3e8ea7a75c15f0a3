// What the code that nvcc generates calls before main(): fat binaries, kernels, variables.
#include <cuda_runtime_api.h>

#include <vector>

#include "cudart/fat_binary.h"
#include "cudart/kernels.h"

using namespace warpgrade::cudart;

namespace {

// A module's handle is never followed: its number, so that none is a null pointer.
void** handle_of(ModuleId module) {
  return reinterpret_cast<void**>((uintptr_t{module} + 1) * sizeof(void*));
}
ModuleId module_of(void** handle) {
  return static_cast<ModuleId>(reinterpret_cast<uintptr_t>(handle) / sizeof(void*) - 1);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  ModuleId module = 0;
  const std::vector<std::span<const uint8_t>> containers = containers_of(wrapper);
  backend().add_module(containers, module);  // what is wrong with it shows when it is used
  return handle_of(module);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Registry::instance().add_kernel(module_of(module), host_function, device_name);
}

void __cudaRegisterVar(void** module, char* host_variable, char*, const char* device_name, int, size_t, int,
                       int) {
  Registry::instance().add_variable(module_of(module), host_variable, device_name);
}

// The host sees a __managed__ variable through a pointer that must be set before the program's first access.
void __cudaRegisterManagedVar(void** module, void** host_pointer, char*, const char* device_name, int, size_t,
                              int, int) {
  const ModuleId owner = module_of(module);
  MemoryRange variable;
  if (backend().add_managed(owner, device_name, variable) != cudaSuccess) return;
  *host_pointer = reinterpret_cast<void*>(variable.begin);
  // Both &variable, which compiles to that pointer's value, and the pointer itself name it.
  Registry::instance().add_variable(owner, host_pointer, device_name);
  Registry::instance().add_variable(owner, *host_pointer, device_name);
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

}  // extern "C"
