// clang-format off
// Two streams of its own for the two halves of a round, both waited for: an older interface knows no stream.
#include "apsp.h"
#include "cuda_utils.h"

__global__ void half(int n, int via, int first, int *g) {
    int i = first + blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n || i == via || j == via) return;
    int through = g[i * n + via] + g[via * n + j];
    if (through < g[i * n + j]) g[i * n + j] = through;
}

void apsp(int n, int *graph) {
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) HANDLE_ERROR(cudaStreamCreate(&stream));
    int rows = (n + 1) / 2;
    for (int via = 0; via < n; via++) {
        for (int part = 0; part < 2; part++)
            half<<<dim3((n + 63) / 64, rows), 64, 0, streams[part]>>>(n, via, part * rows, graph);
        HANDLE_ERROR(cudaDeviceSynchronize());
    }
    for (cudaStream_t &stream : streams) HANDLE_ERROR(cudaStreamDestroy(stream));
}
