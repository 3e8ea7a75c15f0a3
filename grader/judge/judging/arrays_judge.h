// A case whose inputs and outputs are arrays of ArrayBuffers, on the host or on a GPU as the backend wants.
#pragma once

#include <memory>

#include "judge/judging/array_buffers.h"
#include "judge/judging/case_judge.h"

namespace warpgrade {

class ArraysJudge : public CaseJudge {
 protected:
  using CaseJudge::CaseJudge;

  // Adds every array to the buffers, fills and publishes the inputs.
  virtual void fill_buffers() = 0;

  bool on_gpu() const { return context().backend == "cuda"; }
  ArrayBuffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<CaseBuffers> open_buffers() final {
    auto buffers = on_gpu() ? make_cuda_array_buffers() : make_host_array_buffers();
    buffers_ = buffers.get();
    fill_buffers();
    return buffers;
  }

  ArrayBuffers* buffers_ = nullptr;  // the case's own
};

}  // namespace warpgrade
