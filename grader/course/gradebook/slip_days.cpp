#include "course/gradebook/slip_days.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "course/ingest/times.h"
#include "course/score/late.h"

namespace warpgrade {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct LateWork {
  Attempted* attempted;
  Policy::Late rules;
};

// By lab: the earliest deadline of its runs. An appeal's run often knows none.
std::map<std::string, std::int64_t> deadlines_of(const std::vector<Attempted*>& current) {
  std::map<std::string, std::int64_t> deadlines;
  for (const Attempted* attempted : current) {
    const auto time = parse_time(attempted->deadline);
    std::int64_t& known = deadlines.emplace(attempted->grade.lab, kNever).first->second;
    if (time) known = std::min(known, *time);
  }
  return deadlines;
}

std::optional<Policy::Late> rules_of(const Attempted& attempted) {
  const auto rules = nlohmann::json::parse(attempted.late_rules, nullptr, false);
  if (!rules.is_object()) return std::nullopt;
  const Policy::Late late = late_rules_from(rules);
  return late.slip_days > 0 ? std::optional<Policy::Late>(late) : std::nullopt;
}

void apply_loss(const LateWork& work, double used_before, double& used) {
  Grade& grade = work.attempted->grade;
  const double before = grade.points_before_late.value_or(*grade.computed_points);
  const LateLoss loss = late_loss(work.rules, grade.late_s, work.attempted->late_marked, before,
                                  work.rules.slip_days - used_before);
  used = loss.slip_days;
  grade.slip_days = loss.slip_days;
  grade.computed_points = before - loss.points_lost;
  grade.points = grade.computed_points;
  grade.points_before_late = loss.percent > 0 ? std::optional<double>(before) : std::nullopt;
  if (loss.days > 0) grade.late_note = late_note(work.rules, grade.late_s, loss, before);
}

}  // namespace

void spend_slip_days(const std::vector<Attempted*>& current) {
  const auto deadlines = deadlines_of(current);
  std::map<std::string, std::vector<LateWork>> accounts;
  for (Attempted* attempted : current) {
    const Grade& grade = attempted->grade;
    const auto rules = rules_of(*attempted);
    if (!rules || grade.override_by || !grade.computed_points) continue;
    const bool team = rules->slip_days_per_team && !grade.team.empty();
    accounts[team ? "team " + grade.team : "student " + grade.student].push_back({attempted, *rules});
  }
  for (auto& [account, works] : accounts) {
    std::stable_sort(works.begin(), works.end(), [&](const LateWork& a, const LateWork& b) {
      return deadlines.at(a.attempted->grade.lab) < deadlines.at(b.attempted->grade.lab);
    });
    double spent = 0;
    // The members of a team share a submission, which takes its days once.
    std::map<std::string, std::pair<double, double>> counted;  // by submission: spent before it, used by it
    for (const LateWork& work : works) {
      const Grade& grade = work.attempted->grade;
      const std::string key = grade.run + "/" + grade.submission;
      const auto [found, fresh] = counted.emplace(key, std::pair(spent, 0.0));
      apply_loss(work, found->second.first, found->second.second);
      if (fresh) spent += found->second.second;
    }
  }
}

}  // namespace warpgrade
