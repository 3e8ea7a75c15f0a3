// Lab apsp: calls apsp_plan, apsp_run and apsp_free on the judge's buffer.
#include "runner_lab.h"
#include "warpgrade/apsp.h"

namespace warpgrade::runner {
namespace {

class ApspRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers&, cudaStream_t stream) override {
    n_ = static_cast<int>(command.arguments[0]);
    plan_ = nullptr;
    return apsp_plan(n_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command&, const Buffers& buffers, cudaStream_t stream) override {
    return apsp_run(n_, static_cast<int*>(buffers.at("graph")), plan_, stream);
  }

  void free() override {
    apsp_free(plan_);
    plan_ = nullptr;
  }

 private:
  int n_ = 0;
  ApspPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<ApspRunner>();
}

}  // namespace warpgrade::runner
