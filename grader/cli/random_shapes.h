// Shapes that a lab's contract allows and no case has: a case of lab.yaml with other numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "judge/judging/lab.h"

namespace warpgrade {

// `count` of them, fewer where the lab's cases have no numbers to change. Each is a correctness case whose
// whole numbers are drawn between the least and the greatest that any case has, and is rarely larger than
// most correctness cases; a case with draws of its own gets none larger than its own. `cases`: those that
// this machine can judge, whose datasets are used.
std::vector<Case> random_shapes(const Lab& lab, const std::vector<Case>& cases, std::uint64_t seed,
                                std::size_t count);

// What a shape should take, after what a solution took for the case that is most like it: the same graph, or about
// the same size.
double expected_seconds(const Case& shape, const std::vector<Case>& cases,
                        const std::map<std::string, double>& wall_s);

// "rows: 33, cols: 131", for messages.
std::string shape_words(const Case& shape);

}  // namespace warpgrade
