// Kernel launches.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cudart/capture.h"
#include "cudart/cluster.h"
#include "cudart/errors.h"
#include "cudart/host_functions.h"
#include "cudart/kernel_call.h"
#include "cudart/kernels.h"
#include "cudart/packed_arguments.h"

namespace warpgrade::cudart {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// <<<>>> pushes its configuration, the generated stub pops it.
thread_local std::vector<CallConfiguration> call_configurations;

// What CUDA 13's runtime returns on a GPU differs from its predecessors.
constexpr cudaError_t kBadDimensions =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
constexpr cudaError_t kUnknownKernel =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;

constexpr unsigned kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockZ = 64, kMaxThreadsPerBlock = 1024;

cudaError_t check_dimensions(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const bool block_ok = threads > 0 && threads <= kMaxThreadsPerBlock && block.x <= kMaxThreadsPerBlock &&
                        block.y <= kMaxThreadsPerBlock && block.z <= kMaxBlockZ;
  const bool grid_ok = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMaxGridX &&
                       grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ;
  return block_ok && grid_ok ? cudaSuccess : kBadDimensions;
}

// Which axis of the grid is no multiple of the cluster's; 3: none.
int uneven_axis(const KernelCall& call, const ClusterSize& cluster) {
  const uint32_t grid[] = {call.grid.x, call.grid.y, call.grid.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] % cluster[static_cast<size_t>(axis)] != 0) return axis;
  }
  return 3;
}

cudaError_t check_cluster(const KernelCall& call, const KernelFacts& facts) {
  const ClusterSize cluster = cluster_of(call.attributes, facts.cluster);
  const bool fits = blocks_of(cluster) <= most_cluster_blocks(facts) && uneven_axis(call, cluster) == 3;
  return fits ? cudaSuccess : cudaErrorInvalidClusterSize;
}

cudaError_t check_resources(const Kernel& kernel, const KernelCall& call) {
  const KernelFacts& facts = kernel.facts;
  if (const cudaError_t error = check_cluster(call, facts); error != cudaSuccess) return error;
  const auto allowed = static_cast<size_t>(std::max(0, facts.max_dynamic_shared));
  if (call.dynamic_shared > allowed) return cudaErrorInvalidValue;
  const uint32_t threads = call.block.x * call.block.y * call.block.z;
  if (threads > static_cast<uint32_t>(facts.max_threads)) return cudaErrorInvalidValue;
  if (!call.cooperative) return cudaSuccess;
  int blocks = 0;
  const cudaError_t error =
      backend().occupancy(kernel.id, static_cast<int>(threads), call.dynamic_shared, 0, blocks);
  if (error != cudaSuccess) return error;
  const auto multiprocessors =
      static_cast<uint64_t>(backend().device().attributes[cudaDevAttrMultiProcessorCount]);
  const uint64_t resident = static_cast<uint64_t>(blocks) * multiprocessors;
  const bool fits = uint64_t(call.grid.x) * call.grid.y * call.grid.z <= resident;
  return fits ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

// The kernel of a call that can be launched, or why it cannot.
cudaError_t find_kernel(const KernelCall& call, Kernel** kernel) {
  if (Registry::instance().find_kernel(call.function) == nullptr) return kUnknownKernel;
  if (const cudaError_t error = check_dimensions(call.grid, call.block); error != cudaSuccess) return error;
  if (const cudaError_t error = Registry::instance().resolve(call.function, kernel); error != cudaSuccess)
    return error;
  return check_resources(**kernel, call);
}

LaunchCall launch_of(const Kernel& kernel, const KernelCall& call, void* const* arguments,
                     std::vector<uint8_t>& buffer) {
  buffer.assign(kernel.facts.parameter_bytes, 0);
  for (size_t k = 0; k < kernel.facts.parameters.size(); ++k) {
    const Parameter& p = kernel.facts.parameters[k];
    std::memcpy(buffer.data() + p.offset, arguments[k], p.bytes);
  }
  return configuration_of(kernel.id, call);
}

cudaError_t start(const Kernel& kernel, const KernelCall& call, void* const* arguments, StreamId stream) {
  thread_local std::vector<uint8_t> buffer;
  LaunchCall launch = launch_of(kernel, call, arguments, buffer);
  launch.stream = stream;
  launch.attributes = call.attributes;
  return backend().launch(launch, buffer);
}

std::string text_of(dim3 size) {
  return "(" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + ")";
}

// Empty where the cluster is right.
std::string what_is_wrong_with_cluster(const KernelCall& call, const KernelFacts& facts) {
  const ClusterSize cluster = cluster_of(call.attributes, facts.cluster);
  if (blocks_of(cluster) > most_cluster_blocks(facts))
    return "a cluster has " + std::to_string(blocks_of(cluster)) + " blocks, and may have at most " +
           std::to_string(most_cluster_blocks(facts));
  const int axis = uneven_axis(call, cluster);
  if (axis == 3) return "";
  const uint32_t grid[] = {call.grid.x, call.grid.y, call.grid.z};
  return std::string("the grid's ") + "xyz"[axis] + " is " + std::to_string(grid[axis]) +
         ", and must be a multiple of the cluster's, which is " +
         std::to_string(cluster[static_cast<size_t>(axis)]);
}

// Which number of a launch that is refused is wrong, and what its limit is.
std::string what_is_wrong(const KernelCall& call) {
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
  Kernel* kernel = nullptr;
  if (Registry::instance().resolve(call.function, &kernel) != cudaSuccess)
    return "it has no code for this device";
  const KernelFacts& facts = kernel->facts;
  if (const std::string cluster = what_is_wrong_with_cluster(call, facts); !cluster.empty()) return cluster;
  if (threads > static_cast<uint64_t>(facts.max_threads))
    return number("the number of threads in a block", threads, "for this kernel at most",
                  static_cast<uint64_t>(facts.max_threads));
  const auto allowed = static_cast<size_t>(std::max(0, facts.max_dynamic_shared));
  if (call.dynamic_shared > allowed)
    return number("the number of bytes of dynamic shared memory", call.dynamic_shared,
                  ("beside " + std::to_string(facts.static_shared) + " static ones at most").c_str(),
                  allowed);
  return "its blocks do not all fit onto the device at once";
}

// A launch that is refused leaves nothing but an error code, which many programs never look at.
cudaError_t refuse(cudaError_t error, const KernelCall& call) {
  const Kernel* kernel = Registry::instance().find_kernel(call.function);
  if (kernel == nullptr || error == cudaErrorNotSupported) return record(error);
  HostFinding finding;
  finding.kind = HostFinding::Kind::invalid_launch;
  finding.kernel = kernel->name;
  finding.message = "the kernel was not started: " + what_is_wrong(call) + " (grid " + text_of(call.grid) +
                    ", block " + text_of(call.block) + ", " + std::to_string(call.dynamic_shared) +
                    " bytes of dynamic shared memory; " + cudaGetErrorName(error) + ": " +
                    cudaGetErrorString(error) + ")";
  finding.advice =
      "Look at cudaGetLastError() after each launch. A block has at most 1024 threads, a grid at least one "
      "block, and more than 48 KB of shared memory take "
      "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize).";
  backend().report(finding);
  return record(error);
}

cudaError_t refuse_missing_argument(const Kernel& kernel, size_t missing) {
  HostFinding finding;
  finding.kind = HostFinding::Kind::invalid_launch;
  finding.kernel = kernel.name;
  finding.message = "the kernel was not started: it has " + std::to_string(kernel.facts.parameters.size()) +
                    " parameters, and no argument is given for number " + std::to_string(missing) +
                    " (cudaErrorInvalidValue)";
  finding.advice = "Pass a pointer to each parameter; only a kernel without parameters takes none.";
  backend().report(finding);
  return cudaErrorInvalidValue;
}

cudaError_t find_missing_argument(const Kernel& kernel, void* const* arguments) {
  for (size_t k = 0; k < kernel.facts.parameters.size(); ++k) {
    if (arguments == nullptr || arguments[k] == nullptr) return refuse_missing_argument(kernel, k);
  }
  return cudaSuccess;
}

cudaError_t refuse_foreign_stream(const Kernel& kernel, int device) {
  HostFinding finding;
  finding.kind = HostFinding::Kind::invalid_launch;
  finding.kernel = kernel.name;
  finding.message = "the kernel was not started: its stream belongs to device " + std::to_string(device) +
                    ", and the current device is " + std::to_string(current_device());
  finding.advice = "Call cudaSetDevice() with the stream's device before the launch.";
  backend().report(finding);
  return record(cudaErrorInvalidResourceHandle);
}

// Runs the call, or adds it to the graph that captures its stream.
cudaError_t launch(const KernelCall& call, void* const* arguments, cudaStream_t handle) {
  CUDART_RETURN_IF_STICKY();
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return record(cudaErrorInvalidResourceHandle);
  // From CUDA 13 on NVIDIA's runtime starts the kernel on the stream's device (seen on H200s); the guide says
  // that the launch fails, and so it did before.
  if (const int device = device_of_stream(handle); CUDART_VERSION >= 13000 && device != call.device) {
    const ScopedDevice scope(device);
    KernelCall there = call;
    there.device = device;
    return launch(there, arguments, handle);
  }
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find_kernel(call, &kernel); error != cudaSuccess) return refuse(error, call);
  if (const int device = device_of_stream(handle); device != call.device)
    return refuse_foreign_stream(*kernel, device);
  if (const cudaError_t error = find_missing_argument(*kernel, arguments); error != cudaSuccess)
    return record(error);
  if (no_capture() && nothing_is_held()) return record(start(*kernel, call, arguments, stream->in_backend));
  const auto node = [&] { return KernelNode{call, copy_arguments(call, arguments), {}}; };
  if (const auto kept = captured(handle, node)) return record(*kept);
  const auto later = [&] {
    return [kept = node()](StreamId s) { return run(kept.call, kept.pointers().data(), s); };
  };
  if (const auto kept = hold(*stream, later)) return record(*kept);
  return record(start(*kernel, call, arguments, stream->in_backend));
}

}  // namespace

LaunchCall configuration_of(KernelId kernel, const KernelCall& call) {
  LaunchCall launch;
  launch.kernel = kernel;
  launch.grid = {call.grid.x, call.grid.y, call.grid.z};
  launch.block = {call.block.x, call.block.y, call.block.z};
  launch.dynamic_shared = static_cast<uint32_t>(call.dynamic_shared);
  launch.cooperative = call.cooperative;
  return launch;
}

KernelCall kernel_call(const cudaLaunchConfig_t& config, const void* function) {
  KernelCall call{function, config.gridDim, config.blockDim, config.dynamicSmemBytes, false, {}};
  for (unsigned k = 0; k < config.numAttrs; ++k) {
    const cudaLaunchAttribute& a = config.attrs[k];
    if (a.id == cudaLaunchAttributeCooperative) {
      call.cooperative = a.val.cooperative != 0;
    } else {
      call.attributes.push_back(a);
    }
  }
  return call;
}

cudaError_t check(const KernelCall& call) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  return find_kernel(call, &kernel);
}

cudaError_t check_arguments(const KernelCall& call, void* const* arguments) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find_kernel(call, &kernel); error != cudaSuccess) return error;
  return find_missing_argument(*kernel, arguments);
}

cudaError_t find_packed(const KernelCall& call, void* const* extra, std::vector<void*>& arguments) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find_kernel(call, &kernel); error != cudaSuccess) return error;
  PackedArguments packed;
  if (!read_packed(extra, packed)) return cudaErrorInvalidValue;
  const size_t needed = place_packed(packed, kernel->facts.parameters, arguments);
  return *packed.bytes >= needed ? cudaSuccess : cudaErrorInvalidValue;
}

KernelArguments copy_arguments(const KernelCall& call, void* const* arguments) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  KernelArguments copies;
  if (find_kernel(call, &kernel) != cudaSuccess) return copies;
  for (size_t k = 0; k < kernel->facts.parameters.size(); ++k) {
    const auto* begin = static_cast<const uint8_t*>(arguments[k]);
    copies.emplace_back(begin, begin + kernel->facts.parameters[k].bytes);
  }
  return copies;
}

cudaError_t prepare(const KernelCall& call, void* const* arguments, LaunchCall& launch,
                    std::vector<uint8_t>& parameters) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find_kernel(call, &kernel); error != cudaSuccess) return error;
  launch = launch_of(*kernel, call, arguments, parameters);
  return cudaSuccess;
}

cudaError_t run(const KernelCall& call, void* const* arguments, StreamId stream) {
  const ScopedDevice device(call.device);
  Kernel* kernel = nullptr;
  if (const cudaError_t error = find_kernel(call, &kernel); error != cudaSuccess) return error;
  return start(*kernel, call, arguments, stream);
}

}  // namespace warpgrade::cudart

using namespace warpgrade::cudart;

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
  return launch({function, grid, block, shared_bytes, false, {}}, arguments, stream);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch({kernel, grid, block, shared_bytes, false, {}}, arguments, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch({function, grid, block, shared_bytes, true, {}}, arguments, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  return launch(kernel_call(*config, function), arguments, config->stream);
}

}  // extern "C"
