// Lab gcn: calls the contract's functions on the judge's buffers. Which operator is asked for comes with each
// run: a submission plans for a graph, not for an operator.
#include "runner_lab.h"
#include "warpgrade/gcn.h"

namespace warpgrade::runner {
namespace {

// As grader/judge/labs/gcn/gcn_lab.h numbers them.
enum Operator { kTransform = 0, kAggregate = 1, kLogSoftmax = 2, kWhole = 3 };

class GcnRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) override {
    graph_.vertices = static_cast<int>(command.arguments[0]);
    graph_.nnz = static_cast<int>(command.arguments[1]);
    graph_.row_offsets = static_cast<const int*>(buffers.at("row_offsets"));
    graph_.columns = static_cast<const int*>(buffers.at("columns"));
    plan_ = nullptr;
    return gcn_plan(graph_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command& command, const Buffers& buffers, cudaStream_t stream) override {
    const auto numbers = [&](const char* name) { return static_cast<const double*>(buffers.at(name)); };
    double* out = static_cast<double*>(buffers.at("out"));
    switch (command.arguments[0]) {
      case kTransform:
        return gcn_transform(graph_.vertices, numbers("x"), numbers("w"), out, plan_, stream);
      case kAggregate:
        return gcn_aggregate(graph_, numbers("y"), out, plan_, stream);
      case kLogSoftmax:
        return gcn_log_softmax(graph_.vertices, numbers("z"), out, plan_, stream);
      case kWhole:
        return gcn_run(graph_, numbers("x"), numbers("w"), out, plan_, stream);
      default:
        return cudaErrorInvalidValue;
    }
  }

  void free() override {
    gcn_free(plan_);
    plan_ = nullptr;
  }

 private:
  GcnGraph graph_{};
  GcnPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<GcnRunner>();
}

}  // namespace warpgrade::runner
