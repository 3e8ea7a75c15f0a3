// What import, fetch and verify share.
#pragma once

#include <filesystem>
#include <string>

#include "warpgrade/datasets/cli.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {

// Prints what was repaired, dropped or chosen, a note a line.
void print_report(const ImportReport& report);

// The file of pins: the one asked for, else the one beside the catalogue when the staff keep one there, else
// the one in the cache.
std::filesystem::path pin_file(const DataCommandContext& context, const std::filesystem::path& asked);

// As pins note it: 2026-11-21.
std::string today();

}  // namespace warpgrade::datasets
