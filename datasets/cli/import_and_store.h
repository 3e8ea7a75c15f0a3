// What import and fetch share.
#pragma once

#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {

// Prints what was repaired, dropped or chosen, a note a line.
void print_report(const ImportReport& report);

}  // namespace warpgrade::datasets
