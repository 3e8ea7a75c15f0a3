// Lab sampling: calls sampling_plan, sampling_run and sampling_free on the judge's buffers. The generator's
// seed comes with each run.
#include "runner_lab.h"
#include "warpgrade/sampling.h"

namespace warpgrade::runner {
namespace {

class SamplingRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) override {
    graph_.nodes = static_cast<int>(command.arguments[0]);
    graph_.edges = static_cast<int>(command.arguments[1]);
    count_ = static_cast<int>(command.arguments[2]);
    fanout_ = static_cast<int>(command.arguments[3]);
    graph_.row_offsets = static_cast<const int*>(buffers.at("row_offsets"));
    graph_.columns = static_cast<const int*>(buffers.at("columns"));
    plan_ = nullptr;
    return sampling_plan(graph_, count_, fanout_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) override {
    const int* nodes = static_cast<const int*>(buffers.at("nodes"));
    int* samples = static_cast<int*>(buffers.at("samples"));
    const auto seed = static_cast<std::uint64_t>(command.arguments[0]);
    return sampling_run(graph_, nodes, count_, fanout_, seed, samples, plan_, stream);
  }

  void free() override {
    sampling_free(plan_);
    plan_ = nullptr;
  }

 private:
  CsrGraph graph_{};
  int count_ = 0, fanout_ = 0;
  SamplingPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<SamplingRunner>();
}

}  // namespace warpgrade::runner
