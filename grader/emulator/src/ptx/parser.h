// Reads PTX text into a Module; PtxError when the text is not understood.
#pragma once
#include <memory>
#include <string>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace warpgrade::emu {

// Declarations, function signatures and the extents of the bodies.
std::unique_ptr<Module> parse_module(std::string text);

// The statements of one function, once.
void parse_body(Module& module, Function& function);

}  // namespace warpgrade::emu
