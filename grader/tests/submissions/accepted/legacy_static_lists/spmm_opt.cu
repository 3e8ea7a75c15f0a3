// clang-format off
// The plan lives in static variables and is never given back, as in many a program that planned once.
#include "spmm_opt.h"

static int *lengths = NULL;

__global__ void length_kernel(const int *ptr, int *lengths, int num_v)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < num_v) lengths[row] = ptr[row + 1] - ptr[row];
}

__global__ void spmm_kernel(const int *ptr, const int *lengths, const int *idx, const float *val, const float *vin, float *vout, int feat_in)
{
    int row = blockIdx.x, begin = ptr[row], col = blockIdx.y * 32 + threadIdx.x;
    float sum = 0;
    for (int e = 0; e < lengths[row]; ++e) sum += val[begin + e] * vin[idx[begin + e] * feat_in + col];
    if (lengths[row] > 0) vout[row * feat_in + col] = sum;
}

void SpMMOpt::preprocess(float *, float *)
{
    cudaMalloc((void **)&lengths, sizeof(int) * num_v);
    length_kernel<<<CEIL(num_v, 256), 256>>>(d_ptr, lengths, num_v);
}

void SpMMOpt::run(float *vin, float *vout)
{
    spmm_kernel<<<dim3(num_v, CEIL(feat_in, 32)), 32>>>(d_ptr, lengths, d_idx, d_val, vin, vout, feat_in);
}
