// Findings in kernels that Triton compiled, in Triton's words: a block is a program, its threads are
// the compiler's.
#pragma once

#include <string>

#include "report/diagnostics.h"

namespace warpgrade::emu {

// Whether the line is one of a source in Python.
bool is_in_python(const Diagnostic& diagnostic);

// Changes the message and the advice.
void say_in_triton_words(Diagnostic& diagnostic);

}  // namespace warpgrade::emu
