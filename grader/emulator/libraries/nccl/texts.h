// How findings of NCCL name calls, places and ranks.
#pragma once
#include <string>
#include <vector>

#include "nccl/world.h"

namespace warpgrade::nccl {

inline constexpr const char* kSameCalls =
    "Every rank of a communicator makes the same calls in the same order, with the same count, type, "
    "operation and "
    "root; a send and its receive have the same count and type.";
inline constexpr const char* kSameInit =
    "Each rank of 0 to ranks - 1 calls ncclCommInitRank once, with the same id and number of ranks, and "
    "on a device of its own.";
inline constexpr const char* kGroup =
    "Every rank has to call it. Where one thread has several ranks, put their calls between ncclGroupStart "
    "and "
    "ncclGroupEnd, so that none waits for the next one.";

std::string text_of(const Operation& o);  // "ncclAllReduce of 100 float32 with ncclSum"
std::string at(const CallPlace& called);  // " at ring.cu:31"; empty when it cannot be told
std::string at(const Operation& o);
std::string rank_text(const Operation& o);
std::string ranks_text(const std::vector<int>& ranks);  // "ranks 0, 2 and 3"

}  // namespace warpgrade::nccl
