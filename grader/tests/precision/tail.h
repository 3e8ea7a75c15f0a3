// The tail of one cell's error, from more sums than whole matrices allow.
#pragma once

#include <cstdint>
#include <string>

namespace warpgrade::spmm {

// For rows of 8 to 2048 terms, `terms` of each length in all: a line of a Markdown table with how many sums,
// taken one after the other, err by more than 1 to 8 times u sum|a||b|. Values as values.h draws them, from
// a quicker generator.
std::string measure_tail(double terms, std::uint64_t seed);

}  // namespace warpgrade::spmm
