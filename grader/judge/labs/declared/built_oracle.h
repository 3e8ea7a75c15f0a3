// A lab's oracle.cpp as a program, compiled by the toolkit's host compiler into the cache, by content.
#pragma once

#include <filesystem>
#include <string>

#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declared {

// `file`: of the lab's folder. Throws JudgeFault with the compiler's words and what the file is to define.
std::filesystem::path built_oracle(const declaration::LabDeclaration& lab, const std::string& file);

}  // namespace warpgrade::declared
