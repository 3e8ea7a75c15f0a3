#include "course/ingest/times.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <regex>

#include "base/error.h"
#include "base/scoped_variable.h"

namespace warpgrade {
namespace {

constexpr const char* kZones = "/usr/share/zoneinfo";
// std::regex recurses once for each character that a repetition takes: a long text would end the program.
constexpr std::size_t kLongestTime = 100, kLongestZone = 100;

// The C library knows zones by the environment's TZ alone, which belongs to the whole process.
class ZoneInForce {
 public:
  explicit ZoneInForce(const std::string& name) : lock_(mutex()), zone_(std::in_place, "TZ", ":" + name) {
    tzset();
  }
  ~ZoneInForce() {
    zone_.reset();
    tzset();
  }
  ZoneInForce(const ZoneInForce&) = delete;
  ZoneInForce& operator=(const ZoneInForce&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  std::optional<ScopedVariable> zone_;
};

// The 31st of February would have become a day of March.
bool same_day(const std::tm& a, const std::tm& b) {
  return a.tm_year == b.tm_year && a.tm_mon == b.tm_mon && a.tm_mday == b.tm_mday;
}

}  // namespace

TimeZone TimeZone::named(const std::string& name) {
  static const std::regex kForm(R"([A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+)*)");
  TimeZone zone;
  if (name == "UTC") return zone;
  if (name.size() > kLongestZone || !std::regex_match(name, kForm) ||
      !std::filesystem::is_regular_file(std::filesystem::path(kZones) / name))
    throw UsageError("timezone: expected a name such as Europe/Berlin or UTC, of those in {}; got '{}'",
                     kZones, name);
  zone.name_ = name;
  return zone;
}

std::optional<std::int64_t> TimeZone::seconds_of(const std::tm& local) const {
  std::tm time = local;
  if (name_ == "UTC") {
    const std::int64_t seconds = timegm(&time);
    return same_day(time, local) ? std::optional(seconds) : std::nullopt;
  }
  const ZoneInForce in_force(name_);
  time.tm_isdst = -1;
  const std::time_t either = mktime(&time);
  if (!same_day(time, local)) return std::nullopt;
  // Where the hour is there twice, summer's clocks are first.
  std::tm summer = local;
  summer.tm_isdst = 1;
  const std::time_t first = mktime(&summer);
  return summer.tm_isdst == 1 && summer.tm_hour == local.tm_hour && same_day(summer, local)
             ? std::min<std::int64_t>(first, either)
             : either;
}

std::string TimeZone::text(std::int64_t seconds) const {
  char text[64];
  const std::time_t time = seconds;
  std::tm parts = {};
  if (name_ == "UTC") {
    gmtime_r(&time, &parts);
    std::strftime(text, sizeof text, "%a %e %b %Y %H:%M UTC", &parts);
  } else {
    const ZoneInForce in_force(name_);
    localtime_r(&time, &parts);
    std::strftime(text, sizeof text, "%a %e %b %Y %H:%M %Z", &parts);
  }
  return text;
}

std::optional<std::int64_t> parse_time(const std::string& text, const TimeZone& zone) {
  static const std::regex kForm(
      R"(\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?\s*)");
  std::smatch part;
  if (text.size() > kLongestTime || !std::regex_match(text, part, kForm)) return std::nullopt;
  const bool day_only = !part[4].matched;
  const auto number = [&](int i, int otherwise) { return part[i].matched ? std::stoi(part[i]) : otherwise; };
  std::tm time = {};
  time.tm_year = number(1, 0) - 1900;
  time.tm_mon = number(2, 0) - 1;
  time.tm_mday = number(3, 0);
  time.tm_hour = number(4, 23);
  time.tm_min = number(5, 59);
  time.tm_sec = number(6, day_only ? 59 : 0);
  // An earlier year is a slip of the pen, and format_time() would not write it with four figures.
  if (time.tm_year < 70 || time.tm_hour > 23 || time.tm_min > 59 || time.tm_sec > 60) return std::nullopt;
  const std::string offset = part[7];
  if (offset.empty()) return zone.seconds_of(time);
  const auto seconds = TimeZone().seconds_of(time);
  if (!seconds || offset == "Z" || offset == "UTC") return seconds;
  const int hours = std::stoi(offset.substr(1, 2)), minutes = std::stoi(offset.substr(offset.size() - 2));
  return *seconds - (offset[0] == '-' ? -1 : 1) * (3600 * hours + 60 * minutes);
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
