// What the data commands share on a terminal.
#pragma once

#include <cstdint>
#include <string>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

// A bar on stderr, redrawn at most ten times a second; nothing when stderr is no terminal.
Progress terminal_progress(const std::string& what = "");

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace warpgrade::datasets
