// Whether any thread of this process may go on by itself.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace warpgrade::nccl {

// How often each thread but these has waited, by its number, when each waits for another one without a time limit
// (a lock, a condition, the end of a thread). Empty when one runs, sleeps, waits for a file, or when the system
// does not tell. Twice the same: nobody has run in between.
std::optional<std::map<pid_t, uint64_t>> still_threads(const std::set<pid_t>& but);

}  // namespace warpgrade::nccl
