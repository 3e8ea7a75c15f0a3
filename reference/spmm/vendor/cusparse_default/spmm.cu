// SpMM by cuSPARSE with CUSPARSE_SPMM_ALG_DEFAULT: what a user gets who asks for nothing in particular.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major, fp32.
// Link    -lcusparse. Descriptors, work space and preprocessing are made in spmm_plan.
#include <memory>
#include <new>

#include "../cusparse_spmm.cuh"

struct SpmmPlan {
  cusparseHandle_t handle = nullptr;  // the process's
  warpgrade_vendor::Multiplication multiplication;
};

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  std::unique_ptr<SpmmPlan> made(new (std::nothrow) SpmmPlan);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  if (!warpgrade_vendor::is_empty(a)) {
    WARPGRADE_TRY(warpgrade_vendor::shared_handle(stream, &made->handle));
    WARPGRADE_TRY(made->multiplication.prepare(made->handle, a, k, CUSPARSE_SPMM_ALG_DEFAULT, stream));
  }
  *plan = made.release();
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (warpgrade_vendor::is_empty(a)) return warpgrade_vendor::run_empty(a, k, c, stream);
  return plan->multiplication.run(plan->handle, b, c);
}

void spmm_free(SpmmPlan* plan) {
  delete plan;
}
