// Which hand-ins are in Python, and what of them is read.
#pragma once

#include <optional>
#include <string>

#include "judge/compile/tidied_sources.h"

namespace warpgrade {

// The sources of a hand-in in Python: <lab>.py, filled, with the modules beside it. Nothing for one in CUDA.
// A hand-in has one language: where both are filled, that is its problem.
std::optional<TidiedSources> python_sources(const UntrustedFolder& folder, const std::string& lab);

// "vector_add.py", of a lab that takes it.
bool is_python_hand_in(const std::filesystem::path& file, const std::string& lab);

}  // namespace warpgrade
