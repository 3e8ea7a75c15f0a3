// Finds what wrong cells have in common, to say it in a sentence: "every wrong row is longer than
// 32 entries".
#pragma once

#include <string>

#include "judge/labs/spmm/spmm_buffers.h"

namespace warpgrade::spmm {

// Empty when no simple rule fits. The rule holds for all wrong cells and for no right row (column) it
// speaks of.
std::string describe_pattern(const Check& check, const Structure& a, int k);

}  // namespace warpgrade::spmm
