// The submission's own lines beside what they cost.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "record/record.h"

namespace warpgrade {

// The text of the submission's source or header of that name, by untrusted.h's rules; the emulator tells
// names without folders.
std::optional<std::string> find_source(const std::filesystem::path& folder, const std::string& name);

// Adds `source`, the line's text, to the lines of `counters` (as in records) that matter: at least 1 % of all
// instructions. For reports, which read records alone.
void quote_source(nlohmann::json& counters, const std::filesystem::path& folder);

// Puts the program's own names of allocations (`d_x` in `cudaMalloc(&d_x, bytes)`) into what a record's findings
// and its outcome say, where they name "allocation #2" and tell where it was made.
void name_allocations(Record& record, const std::filesystem::path& folder);

// Part of all instructions from which on a line matters.
inline constexpr double kLineMatters = 0.01;

}  // namespace warpgrade
