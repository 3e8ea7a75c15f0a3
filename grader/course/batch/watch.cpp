#include "course/batch/watch.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/say.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "course/batch/publish.h"
#include "course/ingest/times.h"
#include "course/record/events.h"

namespace warpgrade {
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSettle = 3;

// In whole seconds, as the kernel's times are compared.
std::int64_t settle_of(const WatchOptions& watch) {
  return static_cast<std::int64_t>(std::ceil(watch.settle_s.value_or(kSettle)));
}

constexpr std::chrono::milliseconds kLook{1000};
constexpr std::chrono::seconds kPagesAgain{5};  // until pages that could not be written are tried once more
constexpr std::chrono::minutes kAgain{2};       // until what was the judge's fault is tried once more

class Watch {
 public:
  Watch(const GradeOptions& options, const IngestOptions& ingesting, const WatchOptions& watch)
      : options_(options),
        ingesting_(ingesting),
        watch_(watch),
        folder_(options.run),
        zone_(TimeZone::named(ingesting.timezone)),
        taken_(folder_.read_class()) {
    const Policy policy = policy_of(folder_, folder_.read_run());
    if (policy.late) grace_minutes_ = policy.late->grace_minutes;
    find_end();
  }

  int execute() {
    print_begin();
    for (bool first = true;; first = false) {
      // Asked before looking: what arrived before the end is found by the look behind it.
      const bool over = end_ && std::time(nullptr) > *end_ + settle_of(watch_) + 1;
      const bool news = look();
      if (first || news || over || Clock::now() >= again_at_) judge();
      if (over && faults_ > 0) judge();  // what was set aside: no later look tries it again
      if (over) return finish();
      for (auto slept = Clock::duration::zero(); slept < kLook; slept += std::chrono::milliseconds(100)) {
        throw_if_interrupted();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

 private:
  // Extensions may come into the roster while the watch goes on.
  void find_end() { end_ = end_of_watch(watch_, taken_, grace_minutes_, zone_); }

  void print_begin() const {
    fmt::print("watching {}{}; Ctrl-C ends it, the same command goes on\n", ingesting_.source.string(),
               end_ ? " until " + zone_.text(*end_) : "");
    std::fflush(stdout);
  }

  // Whether something new was taken in. What cannot be read now is told once and tried again.
  bool look() {
    try {
      IngestOptions ingesting = ingesting_;
      ingesting.rolling = rolling_options(watch_, end_);
      const json now = ingest(ingesting, folder_);
      const std::vector<json> fresh = new_attempts(taken_, now);
      taken_ = now;
      find_end();
      for (const json& attempt : fresh) report(attempt);
      trouble_.clear();
      return !fresh.empty();
    } catch (const DiskFull&) {
      throw;
    } catch (const UsageError& error) {
      if (trouble_ != error.what()) say("not taken yet: {}\n", error.what());
      trouble_ = error.what();
      return false;
    }
  }

  void report(const json& attempt) const {
    std::string who = attempt.value("team", attempt.at("student").get<std::string>());
    for (const json& student : taken_.at("students"))
      if (student.at("id") == attempt.at("student") && !attempt.contains("team"))
        who = fmt::format("{} ({})", student.value("name", who), who);
    fmt::print("{}: attempt {} of {}{}\n", zone_.text(*parse_time(attempt.at("arrived_at"))),
               attempt.at("attempt").get<int>(), who,
               attempt.contains("refusal")
                   ? " is refused: " + attempt["refusal"]["message"].get<std::string>()
                   : "");
    std::fflush(stdout);
  }

  void judge() {
    if (submissions_taken() == 0) return;
    const GradeSummary summary = grade(options_);
    faults_ = summary.faults;
    EventLog events(folder_.root());
    if (summary.recorded > 0) events.progress("scored", fmt::format("{} cases judged", summary.recorded));
    publish(folder_, events, Published::kPages);
    again_at_ = Clock::time_point::max();
    if (faults_ > 0) again_at_ = Clock::now() + kAgain;
    if (!is_published(folder_, Published::kPages)) again_at_ = Clock::now() + kPagesAgain;
  }

  std::size_t submissions_taken() const {
    std::size_t count = 0;
    for (const json& attempt : taken_.at("attempts")) count += attempt.contains("submission") ? 1 : 0;
    return count;
  }

  int finish() {
    if (submissions_taken() == 0) {
      fmt::print("the deadline has passed, and nothing was handed in\n");
      return kExitGraded;
    }
    EventLog events(folder_.root());
    fmt::print("the watch is over; {}\n", publish(folder_, events));
    return faults_ == 0 ? kExitGraded : kExitJudgeFault;
  }

  const GradeOptions& options_;
  const IngestOptions& ingesting_;
  const WatchOptions& watch_;
  RunFolder folder_;
  TimeZone zone_;
  json taken_;
  double grace_minutes_ = 0;
  std::optional<std::int64_t> end_;
  std::string trouble_;
  std::size_t faults_ = 0;
  Clock::time_point again_at_ = Clock::time_point::max();
};

}  // namespace

json WatchOptions::to_json() const {
  json kept = json::object();
  if (attempts_per_day) kept["attempts_per_day"] = *attempts_per_day;
  if (settle_s) kept["settle_s"] = *settle_s;
  if (until) kept["until"] = *until;
  return kept;
}

WatchOptions WatchOptions::from_json(const json& kept) {
  WatchOptions options;
  if (kept.contains("attempts_per_day")) options.attempts_per_day = kept.at("attempts_per_day").get<int>();
  if (kept.contains("settle_s")) options.settle_s = kept.at("settle_s").get<double>();
  if (kept.contains("until")) options.until = kept.at("until").get<std::string>();
  return options;
}

RollingOptions rolling_options(const WatchOptions& watch, const std::optional<std::int64_t>& until) {
  return {watch.attempts_per_day.value_or(0), settle_of(watch), until};
}

std::optional<std::int64_t> end_of_watch(const WatchOptions& watch, const json& taken, double grace_minutes,
                                         const TimeZone& zone) {
  if (watch.until) {
    const auto end = parse_time(*watch.until, zone);
    if (!end)
      throw UsageError("--until: expected a time like 2026-03-18T23:59:00+01:00, got '{}'", *watch.until);
    return end;
  }
  if (!taken.contains("deadline")) return std::nullopt;
  std::int64_t end = *parse_time(taken.at("deadline"));
  for (const json& student : taken.at("students"))
    if (student.contains("deadline")) end = std::max(end, *parse_time(student.at("deadline")));
  return end + static_cast<std::int64_t>(60 * grace_minutes);
}

int watch_class(const GradeOptions& options, const IngestOptions& ingesting, const WatchOptions& watch) {
  return Watch(options, ingesting, watch).execute();
}

}  // namespace warpgrade
