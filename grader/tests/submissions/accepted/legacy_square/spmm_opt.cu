// clang-format off
// The matrix is square, so vin has num_v rows: they are written anew, column by column, before they are read.
#include "spmm_opt.h"

__global__ void turn_kernel(const float *vin, float *turned, int num_v, int feat_in)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < num_v) for (int col = 0; col < feat_in; ++col) turned[col * num_v + row] = vin[row * feat_in + col];
}

__global__ void turned_kernel(const int *ptr, const int *idx, const float *val, const float *turned, float *vout, int num_v, int feat_in)
{
    int row = blockIdx.x, col = blockIdx.y * 32 + threadIdx.x;
    float sum = 0;
    for (int e = ptr[row]; e < ptr[row + 1]; ++e) sum += val[e] * turned[col * num_v + idx[e]];
    vout[row * feat_in + col] = sum;
}

void SpMMOpt::preprocess(float *, float *)
{
    checkCudaErrors(cudaMalloc2(&turned, sizeof(float) * num_v * feat_in));
}

void SpMMOpt::run(float *vin, float *vout)
{
    turn_kernel<<<CEIL(num_v, 128), 128>>>(vin, turned, num_v, feat_in);
    turned_kernel<<<dim3(num_v, feat_in / 32), 32>>>(d_ptr, d_idx, d_val, turned, vout, num_v, feat_in);
}
