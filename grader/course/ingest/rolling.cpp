#include "course/ingest/rolling.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace warpgrade {
namespace {

constexpr const char* kOverLimit = "over_limit";

// The same again is no new attempt, unless the first try met the day's limit.
bool is_another(const Attempt& before, const Attempt& now) {
  if (before.refusal && before.refusal->reason == kOverLimit) return true;
  if (before.snapshot && now.snapshot) return before.snapshot->hash != now.snapshot->hash;
  return !(before.refusal && now.refusal && before.refusal->message == now.refusal->message);
}

std::optional<Refusal> over_limit(const Group& group, const Attempt& attempt, int limit,
                                  const TimeZone& zone) {
  if (limit <= 0) return std::nullopt;
  // "Wed 18 Mar 2026 23:59 CET"
  const auto day_of = [&](std::int64_t at) { return zone.text(at).substr(0, 15); };
  const std::string day = day_of(*attempt.arrived_at);
  const auto same_day =
      std::count_if(group.attempts.begin(), group.attempts.end(), [&](const Attempt& other) {
        return !other.refusal && other.arrived_at && day_of(*other.arrived_at) == day;
      });
  if (same_day < limit) return std::nullopt;
  return Refusal{kOverLimit,
                 fmt::format("the limit is {} {} a day, and this is one more on {}", limit,
                             limit == 1 ? "attempt" : "attempts", day),
                 "hand it in again on another day before the deadline; the earlier attempts still count", ""};
}

}  // namespace

std::multimap<std::int64_t, std::pair<RawAttempt, Arrival>> new_arrivals(const Layout& layout,
                                                                         const RollingOptions& rolling,
                                                                         const nlohmann::json& seen_stamps) {
  std::multimap<std::int64_t, std::pair<RawAttempt, Arrival>> found;
  for (const RawAttempt& raw : layout.attempts) {
    const Arrival arrival = arrival_of(raw);
    const bool settled = arrival.at + rolling.settle_s <= std::time(nullptr);
    const bool in_time = !rolling.until || arrival.at <= *rolling.until;
    if (settled && in_time && seen_stamps.value(raw.origin, "") != arrival.stamp)
      found.emplace(arrival.at, std::pair(raw, arrival));
  }
  return found;
}

void add_arrival(Group& group, Attempt attempt, const RollingOptions& rolling, const TimeZone& zone) {
  const Attempt* before = nullptr;
  for (const Attempt& other : group.attempts) {
    attempt.number = std::max(attempt.number, other.number);
    if (other.raw.origin == attempt.raw.origin) before = &other;
  }
  if (before != nullptr && !is_another(*before, attempt)) return;
  attempt.number = std::max(attempt.number + 1, attempt.raw.number);
  if (!attempt.refusal) attempt.refusal = over_limit(group, attempt, rolling.attempts_per_day, zone);
  group.attempts.push_back(std::move(attempt));
}

}  // namespace warpgrade
