#include "apsp.h"
__global__ void one_round(int n, int k, int *g) {
    int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) g[i * n + j] = min(g[i * n + j], g[i * n + k] + g[k * n + j]);
}
void apspRef(int n, int *graph) {
    for (int k = 0; k < n; k++) one_round<<<dim3((n + 255) / 256, n), 256>>>(n, k, graph);
}
