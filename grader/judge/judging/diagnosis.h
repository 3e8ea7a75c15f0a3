// Reads what the emulator's runtime reported. It comes from the untrusted side: it may explain a verdict or
// lower it, never raise it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "record/outcome.h"

namespace warpgrade {

// The findings in the order in which they are told: what ended the program, then calls that were refused,
// then what may make an answer wrong, then hints and leaks; those of one kind as the emulator tells them,
// which is the order of the program.
nlohmann::json order_diagnostics(const nlohmann::json& diagnostics);

// Explains a failure by the finding that ended the program, names what explains a wrong answer in front of it
// (a race, an uninitialized read, a refused launch) and what may in other cases explain it behind it, and
// turns `accepted` into runtime_error when memory was misused. What else was found is said behind "also".
void apply_diagnostics(const nlohmann::json& diagnostics, Outcome& outcome);

// Whether a kernel was ended because it had executed too many instructions, and not by a clock.
bool ended_by_steps(const nlohmann::json& diagnostics);

// Whether a finding explains a wrong answer by itself, without a look at the answer.
bool explains_wrong_answer(const nlohmann::json& finding);
// The place and the words of a finding as messages tell them: "spmm.cu:12: reads ... (shared_race)".
std::string finding_text(const nlohmann::json& finding);

// On a GPU: a call that the executor cannot forward returned cudaErrorNotSupported, which is also what a stub
// returns. The outcome then names the call and the way out.
void explain_refusal(const nlohmann::json& diagnostics, Outcome& outcome);

// Totals over the kernels, what is wrong with them, and the kernels themselves, each with its lines and
// buffers. `objects` as the emulator drains them (warpemu/warpemu.h).
nlohmann::json summarize_counters(const nlohmann::json& objects);

}  // namespace warpgrade
