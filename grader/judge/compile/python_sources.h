// Which hand-ins are in Python, and what of them is read.
#pragma once

#include <optional>
#include <string>

#include "judge/compile/tidied_sources.h"

namespace warpgrade {

// The sources of a hand-in in Python: <lab>.py, filled, with the modules beside it. Nothing for one in CUDA.
// A hand-in has one language: where both are filled, that is its problem.
std::optional<TidiedSources> python_sources(const UntrustedFolder& folder, const std::string& lab);

// Why a lab takes no hand-in in Python: "lab spmm takes CUDA C++ alone"; empty: it takes one.
std::string why_no_python_hand_in(const std::string& lab);

}  // namespace warpgrade
