// Launches its kernel so that it may begin before the kernel that stands before it in the stream has ended (programmatic
// stream serialization). Gain: to run beside the gate. The gate never allows it, and fills every thread slot.
#include "honest.cuh"

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(a.rows, k / 32);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, honest_kernel, a, k, b, c);
}

PLANS_NOTHING
