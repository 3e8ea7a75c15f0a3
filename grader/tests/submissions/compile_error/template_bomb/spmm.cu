// Two to the thirtieth template instances: the compiler must end by its limit, not by its patience.
#include "warpgrade/spmm.h"

template <unsigned Depth, unsigned Path>
struct Bomb {
  static constexpr unsigned kValue = Bomb<Depth - 1, 2 * Path>::kValue + Bomb<Depth - 1, 2 * Path + 1>::kValue;
};

template <unsigned Path>
struct Bomb<0, Path> {
  static constexpr unsigned kValue = Path & 1;
};

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  (void)a, (void)k, (void)b, (void)c, (void)stream;
  return static_cast<cudaError_t>(Bomb<30, 0>::kValue);
}

void spmm_free(SpmmPlan*) {}
