// The contract of the lab `spmm`: C = A * B with A sparse (CSR), B and C dense, fp32, row-major.
//
//   C[m, k] = A[m, n] * B[n, k]        m = a.rows, n = a.cols
//
// A submission defines the three functions below in any of its .cu files. The judge calls, in one process and
// always on the same stream:
//
//   spmm_plan(a, k, &plan, stream)         once
//   spmm_run(a, k, b, c, plan, stream)     many times, each with other contents of B
//   spmm_free(plan)                        once
//
// Work        2 * nnz * k flop.
// Compulsory  8 * nnz + 4 * (m + 1) + 4 * k * (n + m) bytes.
// Precision   fp32 products and sums (any order). TF32, FP16, BF16 and 16-bit integers are wrong answers,
//             in rows of every length.
// Sizes       k is a positive multiple of 32 in graded cases (32 and 256); m * k and n * k may exceed 2^31.
// Stream      enqueue all device work on `stream` (or order it by events with `stream`); do not rely on other
//             streams having finished. spmm_run need not synchronize.
// Memory      allocate what you need in spmm_plan, keep it in your SpmmPlan, free it in spmm_free.
//
// Return cudaSuccess, or the error that stopped you. An unwritten function returns cudaErrorNotSupported: it
// is reported as `not_implemented`, never as a failure.
#pragma once

#include <cuda_runtime.h>

#include "warpgrade/csr.h"

struct SpmmPlan;  // yours: define it in your .cu file with whatever spmm_plan builds, or leave it undefined

// Inspect A and build a plan. Timed on its own, outside spmm_run; the report tells after how many runs
// it pays.
//   a     the matrix, device memory, valid and unchanged until spmm_free
//   k     columns of B and C
//   plan  out: handed to spmm_run and spmm_free; may be set to nullptr when nothing needs to be kept
cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream);

// Compute C = A * B.
//   b     [a.cols, k] row-major, device, 256-byte aligned, read-only
//   c     [a.rows, k] row-major, device, 256-byte aligned; contents undefined on entry: write every cell
cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream);

// Release what spmm_plan made; plan may be nullptr.
void spmm_free(SpmmPlan* plan);
