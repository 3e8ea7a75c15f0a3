// Programs without CUDA in them link this in the place of the GPU benches: judging on a GPU is the judge
// process's.
#include "base/error.h"
#include "labs/spmm/workbench.h"

namespace warpgrade::spmm {

std::unique_ptr<Workbench> make_cuda_workbench(int) {
  throw JudgeFault("this program has no GPU bench; warpgrade-judge has");
}

}  // namespace warpgrade::spmm
