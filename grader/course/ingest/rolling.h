// Hand-ins that arrive one after the other: what is new since the last look, and what a day's limit leaves
// of it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "course/ingest/arrival.h"
#include "course/ingest/groups.h"
#include "course/ingest/ingest.h"
#include "course/ingest/times.h"

namespace warpgrade {

// What lies there, has come to rest and is not what `seen_stamps` knows, by its time of arrival.
std::multimap<std::int64_t, std::pair<RawAttempt, Arrival>> new_arrivals(const Layout& layout,
                                                                         const RollingOptions& rolling,
                                                                         const nlohmann::json& seen_stamps);

// Adds the attempt to its group with the next number. The same again is no new attempt; one beyond the day's
// limit is refused.
void add_arrival(Group& group, Attempt attempt, const RollingOptions& rolling, const TimeZone& zone);

}  // namespace warpgrade
