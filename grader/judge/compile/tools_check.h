// Whether nvcc and its host compiler work at all: asked when a failure need not be the submission's.
#pragma once

#include <string>

#include "base/toolchain.h"
#include "judge/compile/compiler.h"

namespace warpgrade {

// Whether the compiler's line names a place in one of the submission's files, and no file that is missing
// there: then the submission is wrong, whatever the machine is like.
bool is_their_own_error(const std::string& line, const Submission& submission);

// Compiles and links a small program of ours in the same box. Throws JudgeFault with the tools' words if that
// fails: then nothing can be said of a submission.
void require_working_tools(const Toolchain& toolchain, const CompileOptions& options,
                           const std::vector<std::string>& link_flags);

}  // namespace warpgrade
