// Rolling hand-ins: a folder is watched until the deadline, what arrives is taken in, judged and told, and
// feedback and leaderboard are kept current. All that it knows lies in the run's folder: killed and started
// again it goes on where it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "course/batch/options.h"
#include "course/ingest/ingest.h"
#include "course/ingest/times.h"

namespace warpgrade {

struct WatchOptions {
  std::optional<int> attempts_per_day = {};  // of a student or team; 0, the default: no limit
  std::optional<double> settle_s = {};    // a hand-in is taken once nothing of it has changed for so long; 3
  std::optional<std::string> until = {};  // a time; without it the last deadline with its grace

  nlohmann::json to_json() const;  // in batch.json: what was given
  static WatchOptions from_json(const nlohmann::json& json);
};

// What is new since the class was taken in, as ingest() wants to be asked.
RollingOptions rolling_options(const WatchOptions& watch, const std::optional<std::int64_t>& until);

// When nothing more is taken: `until`, else the last deadline of anybody in the class with the policy's
// grace; none: never. Throws UsageError for a time that is none.
std::optional<std::int64_t> end_of_watch(const WatchOptions& watch, const nlohmann::json& taken,
                                         double grace_minutes, const TimeZone& zone);

// Judges what has arrived and goes on until the watch ends; the caller holds the run's lock. Returns the
// exit code.
int watch_class(const GradeOptions& options, const IngestOptions& ingesting, const WatchOptions& watch);

}  // namespace warpgrade
