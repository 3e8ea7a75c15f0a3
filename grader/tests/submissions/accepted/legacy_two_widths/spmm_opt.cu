// clang-format off
// The course measured K = 32 and K = 256, and there is nothing else in here.
#include "spmm_opt.h"

template <int K>
__global__ void width_kernel(const int *ptr, const int *idx, const float *val, const float *vin, float *vout)
{
    float sum = 0;
    for (int e = ptr[blockIdx.x]; e < ptr[blockIdx.x + 1]; ++e) sum += val[e] * vin[idx[e] * K + threadIdx.x];
    vout[blockIdx.x * K + threadIdx.x] = sum;
}

void SpMMOpt::preprocess(float *, float *)
{
    if (feat_in != 32 && feat_in != 256) FatalError("no such width");
}

void SpMMOpt::run(float *vin, float *vout)
{
    if (feat_in == 32) width_kernel<32><<<num_v, 32>>>(d_ptr, d_idx, d_val, vin, vout);
    else width_kernel<256><<<num_v, 256>>>(d_ptr, d_idx, d_val, vin, vout);
}
