#include "apsp.h"
#include "cuda_utils.h"
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, *graph;
    CHK_CUDA_ERR(cudaMalloc(&graph, n * n * sizeof(int)));
    apsp(n, graph);
    apspRef(n, graph);
    return 0;
}
