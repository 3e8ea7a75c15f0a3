// A profile as text: tables for a terminal, and the source with its figures beside the lines.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

// A line a kernel. `counters` as records hold them.
std::string kernel_table(const nlohmann::json& counters);

// The findings with their worst lines and advice, or that there are none.
std::string finding_list(const nlohmann::json& counters);

// The source files under `folder` with the figures of each line; without `whole`, the lines that matter: at
// least 1 % of the instructions, or named by a finding.
std::string annotated_source(const nlohmann::json& counters, const std::filesystem::path& folder, bool whole);

}  // namespace warpgrade
