// A full disk is the cluster's fault: what was judged is kept in memory and written when there is room again.
#pragma once

#include <functional>

#include "course/record/events.h"

namespace warpgrade {

// Calls write(). When `retries`, again until it does not meet a full disk or quota, at most
// WARPGRADE_DISK_WAIT_S (default 600) seconds long; then its DiskFull is thrown on. Logs `disk_full` once and
// `disk_freed` at the end.
void retry_when_disk_full(EventLog& events, bool retries, const std::function<void()>& write);

}  // namespace warpgrade
