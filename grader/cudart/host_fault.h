// Says on stderr why host code is about to be ended by SIGSEGV, where the runtime knows: a device pointer was
// dereferenced, or the stack is full.
#pragma once
#include <cstdint>

namespace warpgrade::cudart {

// `is_device_address` is called by a signal handler: it takes no lock and allocates nothing. `who`
// ("emulator") stands in front of the words. The first call counts.
void watch_host_faults(const char* who, bool (*is_device_address)(uint64_t));

// Called by the handler before it says anything: true when the access was waited for and can be made now. False:
// nobody watches faults here.
bool watch_host_touches(bool (*touched)(uint64_t address, bool is_write));
// Whether the handler is still the process's: the program may have set one of its own.
bool sees_host_faults();

}  // namespace warpgrade::cudart
