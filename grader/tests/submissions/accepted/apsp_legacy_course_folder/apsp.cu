// clang-format off
// With all that the course gave beside it.
#include "apsp.h"

namespace {
const int B = 16, PAD = 10000;

__device__ int cell(int n, const int *g, int i, int j) { return i < n && j < n ? g[i * n + j] : PAD; }

__global__ void diagonal(int n, int p, int *g) {
    __shared__ int d[B][B];
    int i = p * B + threadIdx.y, j = p * B + threadIdx.x;
    d[threadIdx.y][threadIdx.x] = cell(n, g, i, j);
    __syncthreads();
    for (int k = 0; k < B; k++) {
        int through = d[threadIdx.y][k] + d[k][threadIdx.x];
        __syncthreads();
        if (through < d[threadIdx.y][threadIdx.x]) d[threadIdx.y][threadIdx.x] = through;
        __syncthreads();
    }
    if (i < n && j < n) g[i * n + j] = d[threadIdx.y][threadIdx.x];
}

// blockIdx.y: 0 the row of tiles, 1 the column.
__global__ void cross(int n, int p, int *g) {
    __shared__ int pivot[B][B], own[B][B];
    int t = blockIdx.x + (blockIdx.x >= p ? 1 : 0);
    int i = (blockIdx.y ? t : p) * B + threadIdx.y, j = (blockIdx.y ? p : t) * B + threadIdx.x;
    pivot[threadIdx.y][threadIdx.x] = cell(n, g, p * B + threadIdx.y, p * B + threadIdx.x);
    own[threadIdx.y][threadIdx.x] = cell(n, g, i, j);
    __syncthreads();
    for (int k = 0; k < B; k++) {
        int through = blockIdx.y ? own[threadIdx.y][k] + pivot[k][threadIdx.x] : pivot[threadIdx.y][k] + own[k][threadIdx.x];
        __syncthreads();
        if (through < own[threadIdx.y][threadIdx.x]) own[threadIdx.y][threadIdx.x] = through;
        __syncthreads();
    }
    if (i < n && j < n) g[i * n + j] = own[threadIdx.y][threadIdx.x];
}

__global__ void others(int n, int p, int *g) {
    __shared__ int left[B][B], above[B][B];
    int ti = blockIdx.y + (blockIdx.y >= p ? 1 : 0), tj = blockIdx.x + (blockIdx.x >= p ? 1 : 0);
    int i = ti * B + threadIdx.y, j = tj * B + threadIdx.x;
    left[threadIdx.y][threadIdx.x] = cell(n, g, i, p * B + threadIdx.x);
    above[threadIdx.y][threadIdx.x] = cell(n, g, p * B + threadIdx.y, j);
    __syncthreads();
    int best = cell(n, g, i, j);
    for (int k = 0; k < B; k++) best = min(best, left[threadIdx.y][k] + above[k][threadIdx.x]);
    if (i < n && j < n) g[i * n + j] = best;
}
}

void apsp(int n, /* device */ int *graph) {
    int m = (n - 1) / B + 1;
    dim3 threads(B, B);
    for (int p = 0; p < m; p++) {
        diagonal<<<1, threads>>>(n, p, graph);
        if (m > 1) {
            cross<<<dim3(m - 1, 2), threads>>>(n, p, graph);
            others<<<dim3(m - 1, m - 1), threads>>>(n, p, graph);
        }
    }
}
