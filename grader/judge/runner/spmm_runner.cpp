// Lab spmm: calls spmm_plan, spmm_run and spmm_free on the judge's buffers.
#include "runner_lab.h"
#include "warpgrade/spmm.h"

namespace warpgrade::runner {
namespace {

class SpmmRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) override {
    a_.rows = static_cast<int>(command.arguments[0]);
    a_.cols = static_cast<int>(command.arguments[1]);
    a_.nnz = static_cast<int>(command.arguments[2]);
    k_ = static_cast<int>(command.arguments[3]);
    a_.row_offsets = static_cast<const int*>(buffers.at("A.row_offsets"));
    a_.columns = static_cast<const int*>(buffers.at("A.columns"));
    a_.values = static_cast<const float*>(buffers.at("A.values"));
    plan_ = nullptr;
    return spmm_plan(a_, k_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command&, const Buffers& buffers, cudaStream_t stream) override {
    const float* b = static_cast<const float*>(buffers.at("B"));
    float* c = static_cast<float*>(buffers.at("C"));
    return spmm_run(a_, k_, b, c, plan_, stream);
  }

  void free() override {
    spmm_free(plan_);
    plan_ = nullptr;
  }

 private:
  CsrMatrix a_{};
  int k_ = 0;
  SpmmPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<SpmmRunner>();
}

}  // namespace warpgrade::runner
