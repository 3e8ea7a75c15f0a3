// SpMM by cuSPARSE with CUSPARSE_SPMM_ALG_DEFAULT: what a user gets who asks for nothing in particular.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32.
// Link    -lcusparse. Descriptors, work space and preprocessing are made in spmm_plan.
#include <memory>
#include <new>

#include "../cusparse_spmm.cuh"

struct SpmmPlan {
  warpgrade_vendor::Handle handle;  // first: outlives the multiplication
  warpgrade_vendor::Multiplication multiplication;
};

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (!warpgrade_vendor::is_empty(a)) {
    WARPGRADE_TRY_CUSPARSE(cusparseCreate(&made->handle.value));
    WARPGRADE_TRY_CUSPARSE(cusparseSetStream(made->handle.value, stream));
    WARPGRADE_TRY(made->multiplication.prepare(made->handle.value, a, k, CUSPARSE_SPMM_ALG_DEFAULT, stream));
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (warpgrade_vendor::is_empty(a)) return warpgrade_vendor::run_empty(a, k, c, stream);
  return plan->multiplication.run(plan->handle.value, b, c);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
