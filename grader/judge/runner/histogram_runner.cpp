// Lab histogram: calls histogram_plan, histogram_run and histogram_free on the judge's buffers.
#include "runner_lab.h"
#include "warpgrade/histogram.h"

namespace warpgrade::runner {
namespace {

class HistogramRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers&, cudaStream_t stream) override {
    count_ = static_cast<int>(command.arguments[0]);
    nodes_ = static_cast<int>(command.arguments[1]);
    plan_ = nullptr;
    return histogram_plan(count_, nodes_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command&, const Buffers& buffers, cudaStream_t stream) override {
    const int* ids = static_cast<const int*>(buffers.at("ids"));
    unsigned* counts = static_cast<unsigned*>(buffers.at("counts"));
    return histogram_run(ids, count_, nodes_, counts, plan_, stream);
  }

  void free() override {
    histogram_free(plan_);
    plan_ = nullptr;
  }

 private:
  int count_ = 0, nodes_ = 0;
  HistogramPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<HistogramRunner>();
}

}  // namespace warpgrade::runner
