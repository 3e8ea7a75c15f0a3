// Barriers of blocks (bar.sync, bar.arrive, bar.red) and of clusters (barrier.cluster).
#pragma once
#include "state/machine.h"

namespace warpgrade::emu {

// Opens every barrier that all awaited threads have reached; true when one opened.
bool open_barriers(Block& block);

// Whether threads of the block wait at the cluster's barrier.
bool waits_for_cluster(const Block& block);

// Opens the cluster's barrier if all its threads that have not returned have arrived; true when it opened.
bool open_cluster_barrier(const Cluster& cluster);

// Nothing in the block can run: names the threads that wait, and where.
void report_deadlock(Block& block);

}  // namespace warpgrade::emu
