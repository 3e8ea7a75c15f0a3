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
#include "cudart/refused_launch.h"

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

cudaError_t check_dimensions(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const bool block_ok = threads > 0 && threads <= kMaxThreadsPerBlock && block.x <= kMaxThreadsPerBlock &&
                        block.y <= kMaxThreadsPerBlock && block.z <= kMaxBlockZ;
  const bool grid_ok = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMaxGridX &&
                       grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ;
  return block_ok && grid_ok ? cudaSuccess : kBadDimensions;
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
  if (threads > static_cast<uint32_t>(facts.max_threads)) {
    if (!takes_too_many_registers(facts, threads)) return cudaErrorInvalidValue;
    return call.cooperative ? cudaErrorCooperativeLaunchTooLarge : cudaErrorLaunchOutOfResources;
  }
  if (!call.cooperative) return cudaSuccess;
  uint64_t resident = 0;
  if (const cudaError_t error = resident_blocks(kernel, call, resident); error != cudaSuccess) return error;
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

cudaError_t refuse(cudaError_t error, const KernelCall& call) {
  report_refused_launch(error, call);
  return record(error);
}

constexpr uint64_t kFirstPage = 4096;  // where no variable of a program lies

// What is wrong with argument `k` of a list; empty where it may be the address of a value.
std::string wrong_argument(void* const* arguments, size_t k) {
  const auto address = reinterpret_cast<uint64_t>(arguments == nullptr ? nullptr : arguments[k]);
  const std::string number = "number " + std::to_string(k);
  if (address == 0) return "no argument is given for " + number;
  if (address < kFirstPage)
    return "the argument for " + number + " is no address, but " + std::to_string(address);
  if (!backend().is_device_address(address)) return "";
  const auto range = backend().find(address);
  if (range && range->is_on_both_sides()) return "";
  return "the argument for " + number + " is an address on the device, where the host cannot read it";
}

// The list of arguments holds the address of each one.
cudaError_t check_list(const Kernel& kernel, void* const* arguments) {
  for (size_t k = 0; k < kernel.facts.parameters.size(); ++k) {
    const std::string wrong = wrong_argument(arguments, k);
    if (wrong.empty()) continue;
    HostFinding finding;
    finding.kind = HostFinding::Kind::invalid_launch;
    finding.kernel = kernel.name;
    finding.message = "the kernel was not started: it has " + std::to_string(kernel.facts.parameters.size()) +
                      " parameters, and " + wrong + " (cudaErrorInvalidValue)";
    finding.advice =
        "For each parameter the list holds the address of the variable with its value: `void* arguments[] = "
        "{&pointer, &count};`. Only a kernel without parameters takes no list.";
    backend().report(finding);
    return cudaErrorInvalidValue;
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
  if (const cudaError_t error = check_list(*kernel, arguments); error != cudaSuccess) return record(error);
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
  return check_list(*kernel, arguments);
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
