// GCN from NVIDIA's libraries: cuBLAS DGEMM, cuSPARSE SpMM in fp64 (its default algorithm), a plain softmax.
//
// Row-major X * W is column-major W^T * X^T: cuBLAS gets the factors exchanged. The normalized matrix's
// values, descriptors and buffers are made in gcn_plan, outside the timed region.
#include <cublas_v2.h>
#include <cusparse.h>

#include <cmath>
#include <new>

#include "warpgrade/gcn.h"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)
#define TRY_LIBRARY(call)                     \
  do {                                        \
    if ((call) != 0) return cudaErrorUnknown; \
  } while (0)

struct GcnPlan {
  cublasHandle_t blas = nullptr;
  cusparseHandle_t sparse = nullptr;
  cusparseSpMatDescr_t matrix = nullptr;
  cusparseDnMatDescr_t from = nullptr, to = nullptr;
  double *values = nullptr, *y = nullptr, *z = nullptr;
  void* buffer = nullptr;
  ~GcnPlan() {
    if (from != nullptr) cusparseDestroyDnMat(from);
    if (to != nullptr) cusparseDestroyDnMat(to);
    if (matrix != nullptr) cusparseDestroySpMat(matrix);
    if (sparse != nullptr) cusparseDestroy(sparse);
    if (blas != nullptr) cublasDestroy(blas);
    for (void* p : {static_cast<void*>(values), static_cast<void*>(y), static_cast<void*>(z), buffer})
      cudaFree(p);
  }
};

namespace {

constexpr int kThreads = 256;
constexpr double kOne = 1, kZero = 0;

__device__ double degree_factor(const int* row_offsets, int vertex) {
  const int degree = row_offsets[vertex + 1] - row_offsets[vertex];
  return degree == 0 ? 0.0 : 1.0 / sqrt(static_cast<double>(degree));
}

__global__ void gcn_normalize_kernel(GcnGraph graph, double* values) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= graph.vertices) return;
  const double own = degree_factor(graph.row_offsets, row);
  for (int e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e)
    values[e] = own * degree_factor(graph.row_offsets, graph.columns[e]);
}

__global__ void gcn_plain_log_softmax_kernel(int vertices, const double* z, double* o) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= vertices) return;
  const double* from = z + static_cast<size_t>(row) * kGcnClasses;
  double* to = o + static_cast<size_t>(row) * kGcnClasses;
  double largest = from[0], sum = 0;
  for (int c = 1; c < kGcnClasses; ++c) largest = fmax(largest, from[c]);
  for (int c = 0; c < kGcnClasses; ++c) sum += exp(from[c] - largest);
  const double shift = largest + log(sum);
  for (int c = 0; c < kGcnClasses; ++c) to[c] = from[c] - shift;
}

int blocks_for(int rows) {
  return (rows + kThreads - 1) / kThreads;
}

cudaError_t describe(const GcnGraph& graph, GcnPlan& p) {
  TRY_LIBRARY(cusparseCreateCsr(&p.matrix, graph.vertices, graph.vertices, graph.nnz,
                                const_cast<int*>(graph.row_offsets), const_cast<int*>(graph.columns),
                                p.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                CUDA_R_64F));
  TRY_LIBRARY(cusparseCreateDnMat(&p.from, graph.vertices, kGcnClasses, kGcnClasses, p.y, CUDA_R_64F,
                                  CUSPARSE_ORDER_ROW));
  TRY_LIBRARY(cusparseCreateDnMat(&p.to, graph.vertices, kGcnClasses, kGcnClasses, p.z, CUDA_R_64F,
                                  CUSPARSE_ORDER_ROW));
  size_t bytes = 0;
  TRY_LIBRARY(cusparseSpMM_bufferSize(p.sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE, &kOne, p.matrix, p.from, &kZero, p.to,
                                      CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
  return cudaMalloc(&p.buffer, bytes + 1);
}

}  // namespace

cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t stream) {
  GcnPlan* p = *plan = new (std::nothrow) GcnPlan;
  if (p == nullptr) return cudaErrorMemoryAllocation;
  const size_t bytes = sizeof(double) * kGcnClasses * graph.vertices;
  TRY(cudaMalloc(&p->values, sizeof(double) * graph.nnz + 1));
  TRY(cudaMalloc(&p->y, bytes));
  TRY(cudaMalloc(&p->z, bytes));
  gcn_normalize_kernel<<<blocks_for(graph.vertices), kThreads, 0, stream>>>(graph, p->values);
  TRY(cudaGetLastError());
  TRY_LIBRARY(cublasCreate(&p->blas));
  TRY_LIBRARY(cublasSetStream(p->blas, stream));
  TRY_LIBRARY(cusparseCreate(&p->sparse));
  TRY_LIBRARY(cusparseSetStream(p->sparse, stream));
  return describe(graph, *p);
}

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan* plan,
                          cudaStream_t) {
  TRY_LIBRARY(cublasDgemm(plan->blas, CUBLAS_OP_N, CUBLAS_OP_N, kGcnClasses, vertices, kGcnFeatures, &kOne, w,
                          kGcnClasses, x, kGcnFeatures, &kZero, y, kGcnClasses));
  return cudaSuccess;
}

cudaError_t gcn_aggregate(const GcnGraph&, const double* y, double* z, GcnPlan* plan, cudaStream_t) {
  TRY_LIBRARY(cusparseDnMatSetValues(plan->from, const_cast<double*>(y)));
  TRY_LIBRARY(cusparseDnMatSetValues(plan->to, z));
  TRY_LIBRARY(cusparseSpMM(plan->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                           &kOne, plan->matrix, plan->from, &kZero, plan->to, CUDA_R_64F,
                           CUSPARSE_SPMM_ALG_DEFAULT, plan->buffer));
  return cudaSuccess;
}

cudaError_t gcn_log_softmax(int vertices, const double* z, double* o, GcnPlan*, cudaStream_t stream) {
  gcn_plain_log_softmax_kernel<<<blocks_for(vertices), kThreads, 0, stream>>>(vertices, z, o);
  return cudaGetLastError();
}

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  TRY(gcn_transform(graph.vertices, x, w, plan->y, plan, stream));
  TRY(gcn_aggregate(graph, plan->y, plan->z, plan, stream));
  return gcn_log_softmax(graph.vertices, plan->z, o, plan, stream);
}

void gcn_free(GcnPlan* plan) {
  delete plan;
}
