// Mistakes of the host's code, with the place of the call that is going on.
#pragma once
#include <string>
#include <vector>

#include "cudart/host_place.h"
#include "report/diagnostics.h"

namespace warpgrade::emu {

// Without places, when the calls come from another process: the stack here is not the program's.
void leave_out_host_places();

// The place of a call, unless places are left out.
cudart::HostPlace host_place(const std::vector<void*>& stack, const std::string& kernel = {});

// `kernel`: the mangled name of the kernel that is launched, whose stub is not the user's code.
void add_host_diagnostic(Diagnostic diagnostic, const std::string& kernel = {});

}  // namespace warpgrade::emu
