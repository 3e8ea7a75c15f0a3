#include "ingest/times.h"

#include <ctime>
#include <regex>

namespace warpgrade {

std::optional<std::int64_t> parse_time(const std::string& text) {
  static const std::regex kForm(
      R"(\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?\s*)");
  std::smatch part;
  if (!std::regex_match(text, part, kForm)) return std::nullopt;
  const bool day_only = !part[4].matched;
  const auto number = [&](int i, int otherwise) { return part[i].matched ? std::stoi(part[i]) : otherwise; };
  std::tm time = {};
  time.tm_year = number(1, 0) - 1900;
  time.tm_mon = number(2, 0) - 1;
  time.tm_mday = number(3, 0);
  time.tm_hour = number(4, 23);
  time.tm_min = number(5, 59);
  time.tm_sec = number(6, day_only ? 59 : 0);
  if (time.tm_hour > 23 || time.tm_min > 59 || time.tm_sec > 60) return std::nullopt;
  const std::tm given = time;
  const std::int64_t seconds = timegm(&time);
  // The 31st of February would have become a day of March.
  if (time.tm_mon != given.tm_mon || time.tm_mday != given.tm_mday) return std::nullopt;
  const std::string zone = part[7];
  if (zone.empty() || zone == "Z" || zone == "UTC") return seconds;
  const int hours = std::stoi(zone.substr(1, 2)), minutes = std::stoi(zone.substr(zone.size() - 2));
  return seconds - (zone[0] == '-' ? -1 : 1) * (3600 * hours + 60 * minutes);
}

std::string format_time(std::int64_t seconds) {
  char text[32];
  const std::time_t time = seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace warpgrade
