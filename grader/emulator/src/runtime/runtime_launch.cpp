// Kernel launches.
#include <cuda_runtime_api.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "device/device_model.h"
#include "memory/device_memory.h"
#include "program/build.h"
#include "report/diagnostics.h"
#include "runtime/capture.h"
#include "runtime/errors.h"
#include "runtime/host_place.h"
#include "runtime/kernel_call.h"
#include "runtime/limits.h"
#include "runtime/modules.h"
#include "runtime/occupancy.h"
#include "simt/launch.h"

namespace warpgrade::emu {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// <<<>>> pushes its configuration, the generated stub pops it.
thread_local std::vector<CallConfiguration> call_configurations;

constexpr uint64_t kParamCapacity = 32764;
constexpr uint64_t kWorkspaceBytes = 64;

struct LaunchBuffers {
  uint64_t params_address;
  uint8_t* params;
  uint64_t workspace_address;
  uint8_t* workspace;
};

// Empty when no memory is left for them.
const std::optional<LaunchBuffers>& launch_buffers() {
  static const std::optional<LaunchBuffers> buffers = []() -> std::optional<LaunchBuffers> {
    DeviceMemory& memory = DeviceMemory::instance();
    const auto params = memory.allocate(kParamCapacity, MemoryKind::parameters, "kernel parameters");
    const auto workspace = memory.allocate(kWorkspaceBytes, MemoryKind::parameters, "the grid's barrier");
    if (!params || !workspace) return std::nullopt;
    return LaunchBuffers{*params, memory.find(*params)->host(*params), *workspace,
                         memory.find(*workspace)->host(*workspace)};
  }();
  return buffers;
}

// What CUDA 13's runtime returns on a GPU differs from its predecessors.
constexpr cudaError_t kBadDimensions =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
constexpr cudaError_t kUnknownKernel =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;

constexpr unsigned kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockZ = 64;

cudaError_t check_dimensions(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const bool block_ok = threads > 0 && threads <= kMaxThreadsPerBlock && block.x <= kMaxThreadsPerBlock &&
                        block.y <= kMaxThreadsPerBlock && block.z <= kMaxBlockZ;
  const bool grid_ok = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMaxGridX &&
                       grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ;
  return block_ok && grid_ok ? cudaSuccess : kBadDimensions;
}

size_t allowed_dynamic_shared(const Kernel& kernel, const Program& program) {
  if (kernel.max_dynamic_shared >= 0) return static_cast<size_t>(kernel.max_dynamic_shared);
  return program.static_shared_bytes > kSharedPerBlock ? 0 : kSharedPerBlock - program.static_shared_bytes;
}

cudaError_t check_resources(const Kernel& kernel, const Program& program, const KernelCall& call) {
  if (call.dynamic_shared > allowed_dynamic_shared(kernel, program)) return cudaErrorInvalidValue;
  const uint32_t threads = call.block.x * call.block.y * call.block.z;
  if (threads > program.max_threads) return cudaErrorInvalidValue;
  if (!call.cooperative) return cudaSuccess;
  const int blocks = max_active_blocks(program, static_cast<int>(threads), call.dynamic_shared);
  const uint64_t resident =
      static_cast<uint64_t>(blocks) * static_cast<uint64_t>(device_model().multiprocessors);
  const bool fits = uint64_t(call.grid.x) * call.grid.y * call.grid.z <= resident;
  return fits ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

// The program of a call that can be launched, or why it cannot.
cudaError_t find_program(const KernelCall& call, const Program** program) {
  Kernel* kernel = Modules::instance().find_kernel(call.function);
  if (kernel == nullptr) return kUnknownKernel;
  if (const cudaError_t error = check_dimensions(call.grid, call.block); error != cudaSuccess) return error;
  *program = Modules::instance().program(*kernel);
  if (*program == nullptr) return cudaErrorNotSupported;
  return check_resources(*kernel, **program, call);
}

cudaError_t run_program(const Program& program, const KernelCall& call, void* const* arguments) {
  static std::mutex one_launch;  // the parameter buffer is shared
  std::lock_guard lock(one_launch);
  static uint64_t sequence = 0;
  if (!launch_buffers()) return cudaErrorMemoryAllocation;
  const LaunchBuffers& buffers = *launch_buffers();
  Launch launch;
  launch.program = &program;
  launch.stack_limit = stack_limit();
  launch.grid[0] = call.grid.x, launch.grid[1] = call.grid.y, launch.grid[2] = call.grid.z;
  launch.block[0] = call.block.x, launch.block[1] = call.block.y, launch.block[2] = call.block.z;
  launch.dynamic_shared = static_cast<uint32_t>(call.dynamic_shared);
  launch.cooperative = call.cooperative;
  launch.params = buffers.params;
  launch.params_address = buffers.params_address;
  launch.workspace_address = call.cooperative ? buffers.workspace_address : 0;
  launch.sequence = ++sequence;
  std::memset(buffers.workspace, 0, kWorkspaceBytes);
  for (size_t k = 0; k < program.params.size(); ++k) {
    std::memcpy(buffers.params + program.params[k].offset, arguments[k], program.params[k].bytes);
  }
  const Fault fault = run_launch(launch);
  if (fault != Fault::none) set_sticky(static_cast<cudaError_t>(fault));
  return cudaSuccess;  // faults of the kernel surface at the next call, as on a GPU
}

std::string text_of(dim3 size) {
  return "(" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + ")";
}

// Which number of a launch that is refused is wrong, and what its limit is.
std::string what_is_wrong(Kernel& kernel, const KernelCall& call) {
  const auto number = [](const char* what, uint64_t is, const char* bound, uint64_t limit) {
    return std::string(what) + " is " + std::to_string(is) + ", and must be " + bound + " " +
           std::to_string(limit);
  };
  const dim3 &grid = call.grid, &block = call.block;
  struct Axis {
    const char* what;
    uint64_t is, limit;
  };
  const Axis axes[] = {{"the grid's x", grid.x, kMaxGridX},
                       {"the grid's y", grid.y, kMaxGridYZ},
                       {"the grid's z", grid.z, kMaxGridYZ},
                       {"the block's x", block.x, kMaxThreadsPerBlock},
                       {"the block's y", block.y, kMaxThreadsPerBlock},
                       {"the block's z", block.z, kMaxBlockZ}};
  for (const Axis& axis : axes) {
    if (axis.is == 0) return number(axis.what, axis.is, "at least", 1);
  }
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (threads > kMaxThreadsPerBlock)
    return number("the number of threads in a block", threads, "at most", kMaxThreadsPerBlock);
  for (const Axis& axis : axes) {
    if (axis.is > axis.limit) return number(axis.what, axis.is, "at most", axis.limit);
  }
  const Program* program = Modules::instance().program(kernel);
  if (program == nullptr) return "it has no code for this device";
  if (threads > program->max_threads)
    return number("the number of threads in a block", threads, "for this kernel at most",
                  program->max_threads);
  if (const size_t allowed = allowed_dynamic_shared(kernel, *program); call.dynamic_shared > allowed)
    return number("the number of bytes of dynamic shared memory", call.dynamic_shared,
                  ("beside " + std::to_string(program->static_shared_bytes) + " static ones at most").c_str(),
                  allowed);
  return "its blocks do not all fit onto the device at once";
}

// A launch that is refused leaves nothing but an error code, which many programs never look at.
cudaError_t refuse(cudaError_t error, const KernelCall& call) {
  Kernel* kernel = Modules::instance().find_kernel(call.function);
  if (kernel == nullptr || error == cudaErrorNotSupported) return record(error);
  Diagnostic d;
  d.kind = Finding::invalid_launch;
  d.kernel = kernel_title(kernel->name);
  d.message = "the kernel was not started: " + what_is_wrong(*kernel, call) + " (grid " + text_of(call.grid) +
              ", block " + text_of(call.block) + ", " + std::to_string(call.dynamic_shared) +
              " bytes of dynamic shared memory; " + cudaGetErrorName(error) + ": " +
              cudaGetErrorString(error) + ")";
  d.advice =
      "Look at cudaGetLastError() after each launch. A block has at most 1024 threads, a grid at least one "
      "block, and more than 48 KB of shared memory take "
      "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize).";
  add_host_diagnostic(std::move(d), kernel->name);
  return record(error);
}

// Runs the call, or adds it to the graph that captures its stream.
cudaError_t launch(const KernelCall& call, void* const* arguments, cudaStream_t stream) {
  WARPEMU_RETURN_IF_STICKY();
  if (find_stream(stream) == nullptr) return record(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = check(call); error != cudaSuccess) return refuse(error, call);
  if (no_capture()) return record(run(call, arguments));
  const auto kept = captured(stream, [&] { return KernelNode{call, copy_arguments(call, arguments), {}}; });
  return record(kept ? *kept : run(call, arguments));
}

}  // namespace

cudaError_t check(const KernelCall& call) {
  const Program* program = nullptr;
  return find_program(call, &program);
}

KernelArguments copy_arguments(const KernelCall& call, void* const* arguments) {
  const Program* program = nullptr;
  KernelArguments copies;
  if (find_program(call, &program) != cudaSuccess) return copies;
  for (size_t k = 0; k < program->params.size(); ++k) {
    const auto* begin = static_cast<const uint8_t*>(arguments[k]);
    copies.emplace_back(begin, begin + program->params[k].bytes);
  }
  return copies;
}

cudaError_t run(const KernelCall& call, void* const* arguments) {
  const Program* program = nullptr;
  if (const cudaError_t error = find_program(call, &program); error != cudaSuccess) return error;
  return run_program(*program, call, arguments);
}

}  // namespace warpgrade::emu

using namespace warpgrade::emu;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st* stream) {
  call_configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (call_configurations.empty()) return record(cudaErrorMissingConfiguration);
  const CallConfiguration c = call_configurations.back();
  call_configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared_bytes = c.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}

// A kernel handle is the host symbol itself.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch({function, grid, block, shared_bytes, false}, arguments, stream);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch({kernel, grid, block, shared_bytes, false}, arguments, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch({function, grid, block, shared_bytes, true}, arguments, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  bool cooperative = false;
  for (unsigned k = 0; k < config->numAttrs; ++k) {
    const cudaLaunchAttribute& a = config->attrs[k];
    if (a.id == cudaLaunchAttributeCooperative) cooperative = a.val.cooperative != 0;
    const bool cluster = a.id == cudaLaunchAttributeClusterDimension &&
                         a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z > 1;
    if (cluster) {
      Diagnostic d;
      d.kind = Finding::unsupported;
      d.message = "emulator: unsupported launch with thread block clusters";
      d.advice = "This cannot run without a GPU: the kernel was not started.";
      const Kernel* kernel = Modules::instance().find_kernel(function);
      add_host_diagnostic(std::move(d), kernel == nullptr ? std::string() : kernel->name);
      return record(cudaErrorNotSupported);
    }
  }
  const KernelCall call{function, config->gridDim, config->blockDim, config->dynamicSmemBytes, cooperative};
  return launch(call, arguments, config->stream);
}

}  // extern "C"
