// Says on stderr why host code is about to be ended by SIGSEGV, where the runtime knows: a device pointer was
// dereferenced, or the stack is full.
#pragma once
#include <cstdint>

namespace warpgrade::cudart {

// `is_device_address` is called by a signal handler: it takes no lock and allocates nothing. `who`
// ("emulator") stands in front of the words. The first call counts.
void watch_host_faults(const char* who, bool (*is_device_address)(uint64_t));

}  // namespace warpgrade::cudart
