#include "device_memory.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

namespace warpgrade::runner {
namespace {

using EmulatorImport = int (*)(int, std::uint64_t, std::uint64_t, const char*, int, void**);
using EmulatorDrain = std::size_t (*)(char*, std::size_t);
using EmulatorForget = void (*)();
using EmulatorLeaks = void (*)(const char*);

template <typename Function>
Function emulator_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

template <typename Function>
Function driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error("libcuda.so.1 cannot be loaded: no NVIDIA driver here");
  void* function = dlsym(library, name);
  if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(what) + " failed with driver error " + std::to_string(result));
}

#define DRIVER(name) driver_function<decltype(&name)>(#name)

void* import_on_gpu(const protocol::Command& attach, int fd) {
  CUmemGenericAllocationHandle handle = 0;
  check(DRIVER(cuMemImportFromShareableHandle)(&handle,
                                               reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "cuMemImportFromShareableHandle");
  CUdeviceptr address = 0;
  check(DRIVER(cuMemAddressReserve)(&address, attach.mapped_bytes, 0, 0, 0), "cuMemAddressReserve");
  check(DRIVER(cuMemMap)(address, attach.mapped_bytes, 0, handle, 0), "cuMemMap");
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  cudaGetDevice(&access.location.id);
  access.flags = attach.read_only != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(DRIVER(cuMemSetAccess)(address, attach.mapped_bytes, &access, 1), "cuMemSetAccess");
  check(DRIVER(cuMemRelease)(handle), "cuMemRelease");  // the mapping keeps the memory
  close(fd);
  return reinterpret_cast<void*>(address + attach.offset);
}

}  // namespace

bool on_emulator() {
  return emulator_function<EmulatorImport>("warpemu_import_memory") != nullptr;
}

void* import_device_memory(const protocol::Command& attach, int fd) {
  if (attach.bytes == 0) {  // a matrix without entries has no arrays
    close(fd);
    return nullptr;
  }
  if (!on_emulator()) return import_on_gpu(attach, fd);
  void* pointer = nullptr;
  const auto import = emulator_function<EmulatorImport>("warpemu_import_memory");
  const int error =
      import(fd, attach.offset, attach.bytes, attach.name, static_cast<int>(attach.read_only), &pointer);
  if (error != 0)
    throw std::runtime_error("the emulator cannot map the buffer: error " + std::to_string(error));
  close(fd);
  return pointer;
}

void release_device_memory(void* payload, std::uint64_t offset, std::uint64_t mapped_bytes) {
  if (payload == nullptr || on_emulator()) return;
  const CUdeviceptr address = reinterpret_cast<CUdeviceptr>(payload) - offset;
  check(DRIVER(cuMemUnmap)(address, mapped_bytes), "cuMemUnmap");
  check(DRIVER(cuMemAddressFree)(address, mapped_bytes), "cuMemAddressFree");
}

std::size_t drain_report(int kind, char* text, std::size_t capacity) {
  const auto drain =
      emulator_function<EmulatorDrain>(kind == 0 ? "warpemu_drain_diagnostics" : "warpemu_drain_counters");
  return drain != nullptr ? drain(text, capacity) : 0;
}

void watch_for_leaks() {
  if (const auto forget = emulator_function<EmulatorForget>("warpemu_forget_allocations")) forget();
}

void report_leaks() {
  if (const auto report = emulator_function<EmulatorLeaks>("warpemu_report_leaks"))
    report("not freed with the plan");
}

}  // namespace warpgrade::runner
