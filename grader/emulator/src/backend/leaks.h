// Memory that is not freed, for WARPEMU_CHECKS=leakcheck: told when the program ends or resets the device,
// and when it is asked for (warpemu.h).
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "cudart/host_place.h"

namespace warpgrade::emu {

// Remembers where an allocation was made; nothing when leaks are not asked for.
void note_allocation(uint64_t address);

// The address of "allocation #2"; 0: it is none that the program made.
uint64_t address_of_allocation(const std::string& name);

// Reports the noted allocations that are not freed now, once. `when`: "never freed", behind "was".
void report_leaks(const char* when);

// The same in two steps, when the places come from elsewhere: addresses of those that will be told, then the
// report with places by address.
std::vector<uint64_t> leaked_addresses();
void report_leaks(const char* when, const std::map<uint64_t, cudart::HostPlace>& places);
void report_leaks_of_program();

// What has been allocated until now is never reported.
void forget_allocations();

}  // namespace warpgrade::emu
