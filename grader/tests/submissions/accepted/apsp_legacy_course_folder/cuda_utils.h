#ifndef CUDA_UTILS_H
#define CUDA_UTILS_H
#include <cstdio>
#include <cstdlib>
#define CHK_CUDA_ERR(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "CUDA error\n"); exit(1); } } while (0)
#endif
