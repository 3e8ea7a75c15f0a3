// What the code that nvcc generates calls before main(): fat binaries, kernels, variables.
#include "memory/device_memory.h"
#include "runtime/modules.h"

using warpgrade::emu::DeviceMemory;
using warpgrade::emu::DeviceVariable;
using warpgrade::emu::LoadedModule;
using warpgrade::emu::Modules;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(Modules::instance().add(wrapper));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Modules::instance().add_kernel(reinterpret_cast<LoadedModule*>(module), host_function, device_name);
}

void __cudaRegisterVar(void** module, char* host_variable, char*, const char* device_name, int, size_t, int,
                       int) {
  Modules::instance().add_variable(reinterpret_cast<LoadedModule*>(module), host_variable, device_name);
}

// The host sees a __managed__ variable through a pointer that must be set before the program's first access.
void __cudaRegisterManagedVar(void** module, void** host_pointer, char*, const char* device_name, int, size_t,
                              int, int) {
  auto* owner = reinterpret_cast<LoadedModule*>(module);
  owner->add_managed(device_name);
  DeviceVariable variable;
  if (!owner->find_variable(device_name, variable)) return;
  *host_pointer = reinterpret_cast<void*>(variable.address);
  // Both &variable, which compiles to that pointer's value, and the pointer itself name it.
  Modules::instance().add_variable(owner, host_pointer, device_name);
  Modules::instance().add_variable(owner, *host_pointer, device_name);
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

}  // extern "C"
