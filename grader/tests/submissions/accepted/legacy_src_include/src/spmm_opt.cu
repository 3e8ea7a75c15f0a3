// clang-format off
// The layout of many courses: src/ and include/, and the header by its path. A thread a cell.
#include "../include/spmm_opt.h"

__global__ void cell_kernel(const int *ptr, const int *idx, const float *val, const float *vin, float *vout, int num_v, int feat_in)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= num_v * feat_in) return;
    int row = cell / feat_in, col = cell % feat_in;
    float sum = 0;
    for (int e = ptr[row]; e < ptr[row + 1]; ++e) sum += val[e] * vin[idx[e] * feat_in + col];
    vout[cell] = sum;
}

void SpMMOpt::preprocess(float *, float *)
{
    block = dim3(256);
    grid = dim3(CEIL(num_v * feat_in, 256));
}

void SpMMOpt::run(float *vin, float *vout)
{
    cell_kernel<<<grid, block>>>(d_ptr, d_idx, d_val, vin, vout, num_v, feat_in);
}
