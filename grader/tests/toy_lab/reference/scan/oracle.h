// The trusted running sums, on the CPU.
#pragma once

#include <span>
#include <vector>

namespace warpgrade::scan {

// out[i] = in[0] + ... + in[i]
std::vector<int> running_sums(std::span<const int> in);

}  // namespace warpgrade::scan
