// cufftExec*: the input comes to the host, is transformed there, and the output goes back, as commands of
// the plan's stream.
#include <cuda_runtime_api.h>
#include <cufftXt.h>

#include <algorithm>

#include "captured_work.h"
#include "cufft/transform.h"

namespace warpgrade::cufft {
namespace {

void require_done(cudaError_t error) {
  require(error == cudaSuccess, CUFFT_EXEC_FAILED);
}

// A layout's elements as pieces: `run` of them one behind another, `rows` of such runs, and the rest.
struct Pieces {
  int64_t run = 1;
  Dimension rows{1, 0};
  Layout rest{};
};

Pieces pieces_of(Layout layout) {
  std::erase_if(layout, [](const Dimension& d) { return d.count == 1; });
  std::sort(layout.begin(), layout.end(),
            [](const Dimension& a, const Dimension& b) { return a.step < b.step; });
  Pieces pieces;
  for (const Dimension& d : layout) {
    if (!pieces.rest.empty()) {
      pieces.rest.push_back(d);
    } else if (pieces.rows.count > 1) {
      if (d.step == pieces.rows.count * pieces.rows.step) {
        pieces.rows.count *= d.count;
      } else {
        pieces.rest.push_back(d);
      }
    } else if (d.step <= pieces.run) {
      pieces.run += (d.count - 1) * d.step;
    } else {
      pieces.rows = d;
    }
  }
  return pieces;
}

// Copies between arrays of one layout, the elements alone and nothing between them.
struct Copy {
  Pieces pieces;
  size_t element;
  cudaMemcpyKind kind;
  cudaStream_t stream;

  void run(char* to, const char* from, size_t dimension = 0) const {
    if (dimension == pieces.rest.size()) {
      copy_rows(to, from);
      return;
    }
    const size_t step = bytes(pieces.rest[dimension].step);
    for (int64_t k = 0; k < pieces.rest[dimension].count; ++k, to += step, from += step)
      run(to, from, dimension + 1);
  }

 private:
  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements) * element; }

  void copy_rows(char* to, const char* from) const {
    const size_t width = bytes(pieces.run), pitch = bytes(pieces.rows.step);
    const auto rows = static_cast<size_t>(pieces.rows.count);
    require_done(rows == 1 ? cudaMemcpyAsync(to, from, width, kind, stream)
                           : cudaMemcpy2DAsync(to, pitch, from, pitch, width, rows, kind, stream));
  }
};

using PlanPointer = std::shared_ptr<Plan>;

Work work_of(const PlanPointer& plan, bool in_place, bool is_inverse) {
  const Layout input = layout_of(plan->request, End::input, in_place),
               output = layout_of(plan->request, End::output, in_place);
  Work work{plan, is_inverse, input, output};
  const auto bytes = [&](const Layout& layout, End end) {
    return static_cast<size_t>(span_of(layout)) * element_bytes(plan->request.type, end);
  };
  work.input.resize(bytes(input, End::input));
  work.output.resize(bytes(output, End::output));
  return work;
}

void transform_in(cudaStream_t stream, const PlanPointer& plan, const void* from, void* to, bool is_inverse) {
  Work work = work_of(plan, from == to, is_inverse);
  const cufftType type = plan->request.type;
  Copy{pieces_of(work.input_layout), element_bytes(type, End::input), cudaMemcpyDeviceToHost, stream}.run(
      work.input.data(), static_cast<const char*>(from));
  work.transform();
  // As on a GPU, the caller does not know that the output is there: it comes from pageable memory, which is
  // read before the copy's call returns.
  Copy{pieces_of(work.output_layout), element_bytes(type, End::output), cudaMemcpyHostToDevice, stream}.run(
      static_cast<char*>(to), work.output.data());
}

void execute(const PlanPointer& plan, const void* from, void* to, int direction) {
  // A null input is no mistake of the call's: on a GPU the transform's kernel meets an illegal address, and
  // here the copy of the input is named.
  require(to != nullptr, CUFFT_EXEC_FAILED);
  require(direction == CUFFT_FORWARD || direction == CUFFT_INVERSE, CUFFT_INVALID_VALUE);
  int device = 0;
  require(cudaGetDevice(&device) == cudaSuccess && device == plan->device, CUFFT_INVALID_DEVICE);
  require(plan->allocates_work_area || plan->has_work_area, CUFFT_NO_WORKSPACE);
  const bool is_inverse = direction == CUFFT_INVERSE;
  const auto work = [=](cudaStream_t stream) {
    return answer([&] { transform_in(stream, plan, from, to, is_inverse); }) == CUFFT_SUCCESS
               ? cudaSuccess
               : cudaErrorLaunchFailure;
  };
  if (libraries::is_captured(plan->stream)) return require_done(libraries::capture(plan->stream, work));
  transform_in(plan->stream, plan, from, to, is_inverse);
}

cufftResult execute_as(cufftType type, cufftHandle handle, const void* from, void* to, int direction) {
  return answer([&] {
    const std::shared_ptr<Plan> plan = made_plan_of(handle);
    require(plan->request.type == type, CUFFT_INVALID_PLAN);
    execute(plan, from, to, direction);
  });
}

}  // namespace
}  // namespace warpgrade::cufft

using namespace warpgrade::cufft;

extern "C" {

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction) {
  return execute_as(CUFFT_C2C, plan, from, to, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* from, cufftComplex* to) {
  return execute_as(CUFFT_R2C, plan, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* from, cufftReal* to) {
  return execute_as(CUFFT_C2R, plan, from, to, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
  return execute_as(CUFFT_Z2Z, plan, from, to, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* from, cufftDoubleComplex* to) {
  return execute_as(CUFFT_D2Z, plan, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleReal* to) {
  return execute_as(CUFFT_Z2D, plan, from, to, CUFFT_INVERSE);
}
// Real transforms have one direction; NVIDIA's documentation says that the argument is ignored for them.
cufftResult cufftXtExec(cufftHandle handle, void* from, void* to, int direction) {
  return answer([&] {
    const std::shared_ptr<Plan> plan = made_plan_of(handle);
    const cufftType type = plan->request.type;
    const int used = is_real(type, End::input)    ? CUFFT_FORWARD
                     : is_real(type, End::output) ? CUFFT_INVERSE
                                                  : direction;
    execute(plan, from, to, used);
  });
}

}  // extern "C"
