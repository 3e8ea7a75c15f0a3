// clang-format off
// All that the course gave lies beside the two files that are the student's. A warp a row.
#include "../include/spmm_opt.h"
#include "../include/util.h"

__global__ void warp_kernel(const int *ptr, const int *idx, const float *val, const float *vin, float *vout, int num_v, int feat_in)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y, col = blockIdx.y * 32 + threadIdx.x;
    if (row >= num_v || col >= feat_in) return;
    float sum = 0;
    for (int e = ptr[row]; e < ptr[row + 1]; ++e) sum += val[e] * vin[idx[e] * feat_in + col];
    vout[row * feat_in + col] = sum;
}

void SpMMOpt::preprocess(float *, float *)
{
    block = dim3(32, 4);
    grid = dim3(CEIL(num_v, 4), CEIL(feat_in, 32));
}

void SpMMOpt::run(float *vin, float *vout)
{
    warp_kernel<<<grid, block>>>(d_ptr, d_idx, d_val, vin, vout, num_v, feat_in);
}
