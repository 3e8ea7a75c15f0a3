// Reads what the emulator's runtime reported. It comes from the untrusted side: it may explain a verdict or
// lower it, never raise it.
#pragma once

#include <nlohmann/json.hpp>

#include "judge/verdict.h"

namespace warpgrade {

// Explains a failure by the first finding, and turns `accepted` into runtime_error when memory was misused.
void apply_diagnostics(const nlohmann::json& diagnostics, Outcome& outcome);

// Totals over the kernels, what is wrong with them, and the kernels themselves, each with its lines and
// buffers. `objects` as the emulator drains them (warpemu/warpemu.h).
nlohmann::json summarize_counters(const nlohmann::json& objects);

}  // namespace warpgrade
