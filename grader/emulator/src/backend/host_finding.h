// Mistakes of the host's code, with the place of the call that is going on.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cudart/backend.h"
#include "cudart/host_place.h"
#include "findings/diagnostics.h"

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

// A call that a later finding may name: its stack, or its number where calls come from elsewhere.
struct CallPlace {
  std::vector<void*> stack;
  uint64_t number = 0;
  std::string kernel;  // as above
};
// `kernel`: the mangled name of the kernel that is launched, whose stub is not the user's code.
CallPlace this_call(const std::string& kernel = {});
CallPlace call_here(const std::string& kernel = {});  // of a finding of this call alone

// A finding of the call that is going on, and perhaps of an earlier one: `finish` puts the earlier one's
// place, which may be unknown, into the diagnostic. Calls of a group of collectives go on until its end.
using Finish = std::function<void(Diagnostic&, const cudart::HostPlace& earlier)>;
void add_host_diagnostic(Diagnostic diagnostic, const CallPlace& call = call_here(),
                         const CallPlace& earlier = {}, const Finish& finish = {});

// Where calls come from elsewhere: the number of the one that begins; whether this_call() was asked for
// since; the earlier call that a waiting finding names, 0: none; and its place.
void begin_call(uint64_t number);
bool keeps_call();
uint64_t earlier_call();
void place_earlier(const cudart::HostPlace& place);

}  // namespace warpgrade::emu
