#include "device_memory.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "judge/executor/driver/imported_memory.h"

namespace warpgrade::runner {
namespace {

using EmulatorImport = int (*)(int, std::uint64_t, std::uint64_t, const char*, int, void**);
using EmulatorDrain = std::size_t (*)(char*, std::size_t);
using EmulatorLimit = void (*)(std::uint64_t);
using EmulatorForget = void (*)();
using EmulatorLeaks = void (*)(const char*);

template <typename Function>
Function emulator_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
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
  if (!on_emulator()) return reinterpret_cast<void*>(executor::import_buffer(attach, fd));
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
  executor::release_buffer(reinterpret_cast<CUdeviceptr>(payload), offset, mapped_bytes);
}

std::size_t drain_report(int kind, char* text, std::size_t capacity) {
  const auto drain =
      emulator_function<EmulatorDrain>(kind == 0 ? "warpemu_drain_diagnostics" : "warpemu_drain_counters");
  return drain != nullptr ? drain(text, capacity) : 0;
}

void limit_steps(std::uint64_t warp_instructions) {
  if (const auto limit = emulator_function<EmulatorLimit>("warpemu_limit_steps")) limit(warp_instructions);
}

void watch_for_leaks() {
  if (const auto forget = emulator_function<EmulatorForget>("warpemu_forget_allocations")) forget();
}

void report_leaks() {
  if (const auto report = emulator_function<EmulatorLeaks>("warpemu_report_leaks"))
    report("not freed with the plan");
}

}  // namespace warpgrade::runner
