#include "backend/driver_bridge.h"

#include <cstdlib>

#include "backend/emulated.h"
#include "cudart/capture.h"
#include "cudart/graph_memory.h"
#include "cudart/host_access.h"
#include "cudart/host_functions.h"
#include "cudart/kernels.h"
#include "cudart/pools.h"

namespace warpgrade::emu {
namespace {

using cudart::Registry;

class OwnBridge final : public DriverBridge {
 public:
  // The judge hands each of its programs the memory of their device.
  bool is_allowed() override {
    static const bool allowed = std::getenv("WARPEMU_MEMORY_FD") == nullptr;
    return allowed;
  }
  cudart::ThreadState exchange_thread_state(const cudart::ThreadState& state) override {
    return cudart::exchange_thread_state(state);
  }
  bool runtime_was_used() override { return cudart::runtime_was_used(); }
  void report(const cudart::HostFinding& finding) override { Emulated::instance().report(finding); }

  cudaError_t read(const CodeImage& image, std::string& ptx, std::string& log) override {
    return LoadedCode::read(image, ptx, log);
  }
  cudaError_t load(const CodeImage& image, bool is_library, const void*& code, std::string& log) override {
    LoadedCode* loaded = nullptr;
    const cudaError_t error = LoadedCode::load({&image, 1}, is_library, loaded, log);
    code = loaded;
    return error;
  }
  bool is_code(const void* code) override { return LoadedCode::find(code) != nullptr; }
  bool unload(const void* code) override { return LoadedCode::unload(code); }
  const void* find_function(const void* code, const char* name) override {
    LoadedCode* loaded = LoadedCode::find(code);
    return loaded != nullptr ? loaded->function(name) : nullptr;
  }
  std::vector<const void*> functions(const void* code) override {
    std::vector<const void*> found;
    LoadedCode* loaded = LoadedCode::find(code);
    if (loaded == nullptr) return found;
    for (const std::string& name : loaded->kernels()) found.push_back(loaded->function(name));
    return found;
  }
  cudaError_t find_variable(const void* code, const char* name, cudart::MemoryRange& variable) override {
    LoadedCode* loaded = LoadedCode::find(code);
    return loaded != nullptr ? loaded->find_variable(name, variable) : cudaErrorInvalidResourceHandle;
  }
  const void* code_of(const void* function) override {
    const LoadedFunction* loaded = LoadedCode::find_function(function);
    return loaded != nullptr ? loaded->owner : nullptr;
  }
  int device_of(const void* function) override {
    const LoadedFunction* loaded = LoadedCode::find_function(function);
    return loaded != nullptr ? loaded->owner->device() : -1;
  }
  bool is_function(const void* function) override {
    return Registry::instance().find_kernel(function) != nullptr;
  }
  cudaError_t parameters(const void* function, std::vector<cudart::Parameter>& parameters) override {
    cudart::Kernel* kernel = nullptr;
    const cudaError_t error = Registry::instance().resolve(function, &kernel);
    if (error == cudaSuccess) parameters = kernel->facts.parameters;
    return error;
  }

  cudaError_t fill(const cudaMemsetParams& fill, cudaStream_t handle) override {
    if (const cudaError_t poisoned = Emulated::instance().sticky(); poisoned != cudaSuccess) return poisoned;
    return cudart::fill_in_stream(handle, fill);
  }
  std::optional<cudart::MemoryRange> find_memory(uint64_t address) override {
    return Emulated::instance().find(address);
  }
  cudaError_t release(uint64_t address, std::initializer_list<cudart::MemoryKind> kinds,
                      const char* call) override {
    if (const cudaError_t poisoned = Emulated::instance().sticky(); poisoned != cudaSuccess) return poisoned;
    if (const cudaError_t error = cudart::wait_for_all_held(); error != cudaSuccess) return error;
    if (const auto freed = cudart::free_graph_memory(address)) return *freed;
    const cudaError_t error = Emulated::instance().release(address, {kinds.begin(), kinds.size()}, call);
    if (error == cudaSuccess) cudart::return_to_pool(address);
    return error;
  }
};

}  // namespace
}  // namespace warpgrade::emu

extern "C" warpgrade::emu::DriverBridge& warpemu_driver_bridge() {
  // Never destroyed: programs call the driver in their own static destructors.
  static auto* bridge = new warpgrade::emu::OwnBridge;
  return *bridge;
}
