// Points in time as the exports write them, and as a course reads them.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace warpgrade {

// The zone in which a course means its times: a name of the IANA database ("Europe/Berlin").
class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // Throws UsageError for a name that this machine does not know.
  static TimeZone named(const std::string& name);

  const std::string& name() const { return name_; }
  // Seconds since 1970 of a time on this zone's clocks; nullopt for one that no calendar has. An hour that is
  // there twice (the clocks go back) is taken at its first time.
  std::optional<std::int64_t> seconds_of(const std::tm& local) const;
  std::string text(std::int64_t seconds) const;  // "Wed 18 Mar 2026 23:59 CET"

 private:
  std::string name_ = "UTC";
};

// Seconds since 1970 of "2026-03-18T02:17:21-07:00", "2026-03-18 02:17:21.000000000 Z", "2026-03-18 02:17
// +0100" or "2026-03-18" (its end: 23:59:59). Without a zone: on the clocks of `zone`. nullopt for
// anything else.
std::optional<std::int64_t> parse_time(const std::string& text, const TimeZone& zone = {});

std::string format_time(std::int64_t seconds);  // "2026-03-18T09:17:21Z"

}  // namespace warpgrade
