// The class interface of earlier years: vout is zero before every run, so parts of long rows may add up atomically.
#include "spmm_opt.h"

const int PART = 64;  // entries of a row that one warp takes

__global__ void row_parts(const int* ptr, const int* idx, const float* val, const float* vin, float* vout, int feat_in) {
  int row = blockIdx.x, col = threadIdx.x;
  int end = ptr[row + 1];
  for (int start = ptr[row] + threadIdx.y * PART; start < end; start += blockDim.y * PART) {
    for (int j = col; j < feat_in; j += 32) {
      float sum = 0;
      for (int i = start; i < min(start + PART, end); i++) sum += val[i] * vin[(size_t)idx[i] * feat_in + j];
      atomicAdd(&vout[(size_t)row * feat_in + j], sum);
    }
  }
}

void SpMMOpt::preprocess(float* vin, float* vout) {
  grid = dim3(num_v);
  block = dim3(32, 4);
}

void SpMMOpt::run(float* vin, float* vout) {
  row_parts<<<grid, block>>>(d_ptr, d_idx, d_val, vin, vout, feat_in);
}
