// What is made from a declaration for submissions in Python: the call as data, and the student's stub.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

// Why the lab takes no Python; empty: it does. Arrays of structures mean nothing to Triton.
std::string why_no_python(const LabDeclaration& lab);

// lab.json (judge/runner/triton/warpgrade/_contract.py): what run() and plan() are called with.
nlohmann::json python_call(const LabDeclaration& lab);

// student/<lab>/<lab>.py: can be judged, and says that it is not written yet.
std::string python_stub(const LabDeclaration& lab);

// Whether a source in Python, or one in CUDA, is a stub that nobody has filled.
bool is_unfilled_python(const std::string& text);
bool is_unfilled_cuda(const std::string& text);

}  // namespace warpgrade::declaration
