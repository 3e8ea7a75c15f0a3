// A case whose inputs and outputs are arrays of an ArraysBench, on the host or on a GPU as the backend wants.
#pragma once

#include <memory>

#include "judge/judging/arrays_bench.h"
#include "judge/judging/case_judge.h"

namespace warpgrade {

class ArraysJudge : public CaseJudge {
 protected:
  using CaseJudge::CaseJudge;

  // Adds every array to the bench, fills and publishes the inputs.
  virtual void fill_bench() = 0;

  bool on_gpu() const { return context().backend == "cuda"; }
  ArraysBench& bench() { return *bench_; }

 private:
  std::unique_ptr<CaseBench> open_bench() final {
    auto bench = on_gpu() ? make_cuda_arrays_bench() : make_host_arrays_bench();
    bench_ = bench.get();
    fill_bench();
    return bench;
  }

  ArraysBench* bench_ = nullptr;  // the case's own
};

}  // namespace warpgrade
