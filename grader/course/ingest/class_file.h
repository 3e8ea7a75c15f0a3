// A class while it is taken in, and its form in submissions.json.
#pragma once

#include <cstdint>
#include <map>
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
  std::map<std::string, std::int64_t> extensions;    // by student's id: given by hand, above the roster's
  nlohmann::json changes = nlohmann::json::array();  // what was changed since the class was taken in
  // Of rolling hand-ins: by origin, as they lay there when they were taken.
  nlohmann::json seen_stamps = nlohmann::json::object();
};

nlohmann::json class_json(const ClassInProgress& taken, const IngestOptions& options,
                          const RunFolder& folder);

// Enters what an earlier call took in, whatever has become of it in the folder of hand-ins. Attempts go to
// whom the roster in `taken` says, found by what the export called their owners.
void restore_class(const nlohmann::json& before, const RunFolder& folder, ClassInProgress& taken);

// The students of an earlier call, strangers to its roster left out unless there was none.
Roster roster_of(const nlohmann::json& before);

// Notes in `roster` by which ids its students went before: people who are found under another id now.
void note_former_ids(const nlohmann::json& before, Roster& roster);

// Extensions that were given by hand hold, whatever the roster says.
void apply_extensions(ClassInProgress& taken);

}  // namespace warpgrade
