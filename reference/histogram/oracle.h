// The trusted histogram, on the CPU.
#pragma once

#include <span>
#include <vector>

namespace warpgrade::histogram {

constexpr int kBinWidth = 40;  // the contract's kNodesPerBin, for files without CUDA

// counts[b] = ids with id / 40 == b; ids are in [0, nodes). Throws std::out_of_range at one that is not.
std::vector<unsigned> count(std::span<const int> ids, int nodes);

}  // namespace warpgrade::histogram
