// Memory and time as sbatch(1) writes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace warpgrade {

// "800M", "4G", "512" (MiB); 0 is all memory of a node. Nothing: it is written in another way.
std::optional<std::size_t> memory_mb(const std::string& text);

// "30", "30:00", "8:00:00", "1-12", "1-12:30", "1-12:30:00": minutes, mm:ss, h:mm:ss, days-hours and so on. 0
// is no limit, as are UNLIMITED and INFINITE.
std::optional<double> time_s(const std::string& text);

// Whole minutes, as --time takes them: "90".
std::string minutes_text(double seconds);

}  // namespace warpgrade
