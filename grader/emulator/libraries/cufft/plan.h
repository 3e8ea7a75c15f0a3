// A plan of cuFFT: what is transformed, where its elements lie, and how it is carried out.
#pragma once
#include <cufft.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "cufft/line.h"

namespace warpgrade::cufft {

// Ends a call; answer() makes it the call's result.
struct Failure {
  cufftResult status;
};

inline void require(bool holds, cufftResult status) {
  if (!holds) throw Failure{status};
}

template <class Work>
cufftResult answer(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return CUFFT_ALLOC_FAILED;
  }
  return CUFFT_SUCCESS;
}

// `count` elements, one every `step` elements.
struct Dimension {
  int64_t count, step;
};
// The batch first, then the dimensions of one transform, the slowest first.
using Layout = std::vector<Dimension>;

// What the functions that make plans are asked for.
struct Request {
  struct Array {
    std::vector<int64_t> embed{};
    int64_t stride = 1, distance = 0;
  };
  cufftType type = CUFFT_C2C;
  std::vector<int64_t> size{};
  int64_t batch = 1;
  bool is_dense = true;  // cuFFT's basic layout; `input` and `output` say nothing then
  Array input{}, output{};
};

enum class End { input, output };

bool is_double(cufftType type);
bool is_known(cufftType type);
// Whether the elements at this end are real numbers.
bool is_real(cufftType type, End end);
size_t element_bytes(cufftType type, End end);
// The dense layout of real numbers depends on whether the transform is in place.
Layout layout_of(const Request& request, End end, bool in_place);
// How many elements there are from the first to behind the last one.
int64_t span_of(const Layout& layout);
// One transform's complex numbers, of which half is kept where the others are their conjugates.
std::vector<int64_t> complex_size(const Request& request);
// Throws where a plan cannot have it; the size of its work area otherwise.
size_t checked_work_bytes(const Request& request);

// One thread at a time uses a plan, as cuFFT wants it; a graph's launch may be under way beside it.
struct Plan {
  const Line& line(int64_t size, bool is_inverse);

  Request request{};
  bool is_made = false, allocates_work_area = true, has_work_area = false;
  size_t work_bytes = 0;
  int device = 0;
  cudaStream_t stream = nullptr;
  std::mutex transforms{};  // for `lines`, which have scratch memory
  std::map<std::pair<int64_t, bool>, Line> lines{};
};

// The plan of a handle; throws where it is none, or not made.
std::shared_ptr<Plan> plan_of(cufftHandle handle);
std::shared_ptr<Plan> made_plan_of(cufftHandle handle);

}  // namespace warpgrade::cufft
