// The transforms of one execution, on arrays of the host that lie as those of the device do.
#pragma once
#include "cufft/plan.h"

namespace warpgrade::cufft {

// One execution: its input and its output on the host.
struct Work {
  std::shared_ptr<Plan> plan;
  bool is_inverse;
  Layout input_layout, output_layout;
  std::vector<char> input{}, output{};

  void transform();
};

}  // namespace warpgrade::cufft
