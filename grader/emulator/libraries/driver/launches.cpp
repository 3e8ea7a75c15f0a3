#include "driver/launches.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "cudart/packed_arguments.h"
#include "driver/call.h"

namespace warpgrade::driver {
namespace {

static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute) &&
              offsetof(CUlaunchAttribute, value) == offsetof(cudaLaunchAttribute, val));

CUresult refuse_arguments(const void* function, const std::string& what) {
  const char* name = "";
  cudaFuncGetName(&name, function);
  cudart::HostFinding finding;
  finding.kind = cudart::HostFinding::Kind::invalid_launch;
  finding.kernel = name;
  finding.message = "the kernel was not started: " + what + " (CUDA_ERROR_INVALID_VALUE)";
  finding.advice =
      "Pass a pointer to each parameter in kernelParams, or all of them packed into one buffer, each at a "
      "multiple of "
      "its alignment, by CU_LAUNCH_PARAM_BUFFER_POINTER and CU_LAUNCH_PARAM_BUFFER_SIZE.";
  bridge().report(finding);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult unpack(const void* function, const std::vector<cudart::Parameter>& parameters, void** extra,
                std::vector<void*>& arguments) {
  cudart::PackedArguments packed;
  if (!cudart::read_packed(extra, packed)) return CUDA_ERROR_INVALID_VALUE;
  const size_t needed = cudart::place_packed(packed, parameters, arguments);
  if (*packed.bytes >= needed) return CUDA_SUCCESS;
  return refuse_arguments(function, "its parameters take " + std::to_string(needed) +
                                        " bytes, and the buffer has " + std::to_string(*packed.bytes));
}

bool belongs_here(const void* function) {
  const int device = bridge().device_of(function);
  int current = 0;
  cudaGetDevice(&current);
  return device == -1 || device == current;
}

CUresult launch(const CUlaunchConfig& config, const void* function, void** parameters, void** extra) {
  return in_context([&](Context&) -> CUresult {
    std::vector<void*> arguments;
    if (const CUresult result = find_arguments(function, parameters, extra, arguments);
        result != CUDA_SUCCESS)
      return result;
    const cudaLaunchConfig_t launch = runtime_config(config);
    return result_of(cudaLaunchKernelExC(&launch, function, arguments.data()));
  });
}

}  // namespace

cudaLaunchConfig_t runtime_config(const CUlaunchConfig& config) {
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(config.gridDimX, config.gridDimY, config.gridDimZ);
  launch.blockDim = dim3(config.blockDimX, config.blockDimY, config.blockDimZ);
  launch.dynamicSmemBytes = config.sharedMemBytes;
  launch.stream = config.hStream;
  launch.attrs = reinterpret_cast<cudaLaunchAttribute*>(config.attrs);
  launch.numAttrs = config.numAttrs;
  return launch;
}

CUresult find_arguments(const void* function, void** given, void** extra, std::vector<void*>& arguments) {
  if (!bridge().is_function(function) || !belongs_here(function)) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<cudart::Parameter> parameters;
  if (const cudaError_t error = bridge().parameters(function, parameters); error != cudaSuccess)
    return result_of(error);
  if (given != nullptr && extra != nullptr)
    return refuse_arguments(function, "both kernelParams and extra are given");
  if (extra != nullptr) return unpack(function, parameters, extra, arguments);
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (given == nullptr || given[k] == nullptr)
      return refuse_arguments(function, "it has " + std::to_string(parameters.size()) +
                                            " parameters, and no argument is given for number " +
                                            std::to_string(k));
    arguments.push_back(given[k]);
  }
  return CUDA_SUCCESS;
}

}  // namespace warpgrade::driver

using namespace warpgrade::driver;

extern "C" {

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return config != nullptr ? launch(*config, function, parameters, extra) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                              block_z, shared_bytes, stream, nullptr, 0};
  return launch(config, function, parameters, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** parameters) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x,      block_y,
                              block_z, shared_bytes, stream, &cooperative, 1};
  return launch(config, function, parameters, nullptr);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return by_runtime(cudaLaunchHostFunc, stream, function, data);
}

}  // extern "C"
