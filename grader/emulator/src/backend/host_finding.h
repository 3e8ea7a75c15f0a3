// Mistakes of the host's code, with the place of the call that is going on.
#pragma once
#include <string>
#include <vector>

#include "cudart/backend.h"
#include "cudart/host_place.h"
#include "report/diagnostics.h"

namespace warpgrade::emu {

// The calls come from another process: the stack here is not the program's. A finding then waits for
// its place.
void take_places_from_elsewhere();
bool places_come_from_elsewhere();

// A finding of the front end as a diagnostic; its place is the calls' of this process, or the finding's own.
// `who` refuses what is unsupported.
void add_finding(const cudart::HostFinding& finding, const std::string& who = "emulator");

// Whether a finding waits; its place, or an empty path when nobody knows.
bool wants_place();
void place_finding(const std::string& path, uint32_t line);

// The place of a call of this process.
cudart::HostPlace host_place(const std::vector<void*>& stack, const std::string& kernel = {});

// `kernel`: the mangled name of the kernel that is launched, whose stub is not the user's code.
void add_host_diagnostic(Diagnostic diagnostic, const std::string& kernel = {});

}  // namespace warpgrade::emu
