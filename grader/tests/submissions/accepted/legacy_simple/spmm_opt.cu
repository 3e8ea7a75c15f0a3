// clang-format off
#include "spmm_opt.h"

const int WARP_SIZE = 32;

// one warp per row, one column per lane
__global__ void spmm_warp_kernel(int *ptr, int *idx, float *val, float *vin, float *vout, int num_v, int feat_in)
{
    int row = blockIdx.x;
    int col = blockIdx.y * WARP_SIZE + threadIdx.x;
    if (row >= num_v || col >= feat_in) return;
    float result = 0.0f;
    for (int i = ptr[row]; i < ptr[row + 1]; ++i) {
        result += vin[(size_t)idx[i] * feat_in + col] * val[i];
    }
    vout[(size_t)row * feat_in + col] = result;
}

void SpMMOpt::preprocess(float *vin, float *vout)
{
    grid = dim3(num_v, CEIL(feat_in, WARP_SIZE));
    block = dim3(WARP_SIZE);
}

void SpMMOpt::run(float *vin, float *vout)
{
    spmm_warp_kernel<<<grid, block>>>(d_ptr, d_idx, d_val, vin, vout, num_v, feat_in);
}
