// The desk's supervisor: `warpgrade desk serve`, one a course. It keeps workers alive, gives back to the
// queue what a dead one had, tells everybody their place, and writes the metrics and the leaderboard.
#pragma once

#include <filesystem>

namespace warpgrade::desk {

struct ServeOptions {
  std::filesystem::path desk;
  double until_idle_s = 0;  // ends after so long without anything to do; 0: never
};

// Returns the exit code; throws Interrupted after SIGTERM, UsageError where another serves this desk.
int serve(const ServeOptions& options);

}  // namespace warpgrade::desk
