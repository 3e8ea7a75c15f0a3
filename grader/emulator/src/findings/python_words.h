// Findings in kernels that were written in Python, in the words of what compiled them: to Triton a block is a
// program, whose threads are the compiler's; to Numba CUDA's functions have other names.
#pragma once

#include <string>

#include "findings/diagnostics.h"

namespace warpgrade::emu {

// Whether the finding lies in a kernel of Triton.
bool is_in_triton(const Diagnostic& diagnostic);

// Changes the message and the advice of a finding in a kernel in Python.
void say_in_words_of_python(Diagnostic& diagnostic);

}  // namespace warpgrade::emu
