// A class while it is taken in, and its form in submissions.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/ingest/groups.h"
#include "course/ingest/ingest.h"
#include "course/ingest/roster.h"
#include "course/ingest/times.h"

namespace warpgrade {

struct ClassInProgress {
  TimeZone zone;
  Roster roster;
  std::optional<std::int64_t> deadline;  // seconds since 1970
  std::string layout;
  std::vector<std::string> left_aside;
  Groups groups;
  // Of rolling hand-ins: by origin, as they lay there when they were taken.
  nlohmann::json seen_stamps = nlohmann::json::object();
};

nlohmann::json class_json(const ClassInProgress& taken, const IngestOptions& options,
                          const RunFolder& folder);

// Enters what an earlier call took in, whatever has become of it in the folder of hand-ins.
void restore_class(const nlohmann::json& before, const RunFolder& folder, ClassInProgress& taken);

}  // namespace warpgrade
