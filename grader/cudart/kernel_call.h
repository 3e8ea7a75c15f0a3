// A kernel launch as the API states it: checked, then run now or kept in a graph.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cudart/backend.h"
#include "cudart/current_device.h"

namespace warpgrade::cudart {

struct KernelCall {
  const void* function = nullptr;
  dim3 grid, block;
  size_t dynamic_shared = 0;
  bool cooperative = false;
  std::vector<cudaLaunchAttribute> attributes{};  // beside `cooperative`
  int device = current_device();                  // on which it was asked for
};

// As a backend takes it, without stream, parameters and attributes.
LaunchCall configuration_of(KernelId kernel, const KernelCall& call);

// Of the extended launch's configuration.
KernelCall kernel_call(const cudaLaunchConfig_t& config, const void* function);

// Where each parameter of the kernel lies, copied: what a graph keeps.
using KernelArguments = std::vector<std::vector<uint8_t>>;

// Whether this launch is possible on the device at all.
cudaError_t check(const KernelCall& call);

// cudaErrorInvalidValue, and a finding that says which is missing, where a parameter has no argument. A
// kernel without parameters takes no list.
cudaError_t check_arguments(const KernelCall& call, void* const* arguments);

// What `extra` gives in the place of a list of arguments.
cudaError_t find_packed(const KernelCall& call, void* const* extra, std::vector<void*>& arguments);

// Copies the arguments of a call that check() and check_arguments() accept.
KernelArguments copy_arguments(const KernelCall& call, void* const* arguments);

// check(), then the launch as a backend takes it, but for stream and attributes.
cudaError_t prepare(const KernelCall& call, void* const* arguments, LaunchCall& launch,
                    std::vector<uint8_t>& parameters);

// check(), then the launch. A fault of the kernel is sticky and no result of this.
cudaError_t run(const KernelCall& call, void* const* arguments, StreamId stream);

}  // namespace warpgrade::cudart
