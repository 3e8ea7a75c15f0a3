// Lab scan: calls scan_plan, scan_run and scan_free on the judge's buffers.
#include "runner_lab.h"
#include "warpgrade/scan.h"

namespace warpgrade::runner {
namespace {

class ScanRunner : public LabRunner {
 public:
  cudaError_t plan(const protocol::Command& command, const Buffers&, cudaStream_t stream) override {
    count_ = static_cast<int>(command.arguments[0]);
    plan_ = nullptr;
    return scan_plan(count_, &plan_, stream);
  }

  cudaError_t run(const protocol::Command&, const Buffers& buffers, cudaStream_t stream) override {
    const int* in = static_cast<const int*>(buffers.at("in"));
    return scan_run(in, count_, static_cast<int*>(buffers.at("out")), plan_, stream);
  }

  void free() override {
    scan_free(plan_);
    plan_ = nullptr;
  }

 private:
  int count_ = 0;
  ScanPlan* plan_ = nullptr;
};

}  // namespace

std::unique_ptr<LabRunner> make_lab_runner() {
  return std::make_unique<ScanRunner>();
}

}  // namespace warpgrade::runner
