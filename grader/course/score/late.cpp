#include "course/score/late.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpgrade {
namespace {

using nlohmann::json;

double percent_of(const Policy::Late& rules, double days) {
  if (days > rules.max_days) return 100;
  return std::min(rules.cap_percent, days * rules.percent_per_day);
}

// The fewest of `available` days that make the loss as small as it can be.
double slip_days_for(const Policy::Late& rules, double days, double available) {
  const double usable = std::clamp(available, 0.0, days);
  const double least = percent_of(rules, days - usable);
  if (least >= percent_of(rules, days)) return 0;
  const bool last_day_will_do = days > rules.max_days && percent_of(rules, rules.max_days) <= least;
  return last_day_will_do ? days - rules.max_days : usable;
}

std::string duration_text(double seconds) {
  const auto minutes = static_cast<long long>(seconds / 60);
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 2 * 24 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} days {} h", minutes / (24 * 60), minutes / 60 % 24);
}

double two_digits(double value) {
  return std::round(value * 100) / 100;
}

}  // namespace

LateLoss late_loss(const Policy::Late& rules, std::optional<double> late_seconds, bool marked, double points,
                   double slip_days_left) {
  LateLoss loss;
  if (late_seconds && *late_seconds <= 0) return loss;
  if (!late_seconds && !marked) return loss;
  loss.within_grace = late_seconds && *late_seconds <= 60 * rules.grace_minutes;
  if (loss.within_grace) return loss;
  loss.days = late_seconds ? std::ceil(*late_seconds / 86400) : rules.marked_days;
  if (points > 0) loss.slip_days = slip_days_for(rules, loss.days, slip_days_left);
  loss.percent = percent_of(rules, loss.days - loss.slip_days);
  loss.points_lost = points * loss.percent / 100;
  return loss;
}

std::string late_note(const Policy::Late& rules, std::optional<double> late_seconds, const LateLoss& loss,
                      double points) {
  std::string text = late_seconds
                         ? fmt::format("Handed in {} after the deadline", duration_text(*late_seconds))
                         : "Marked late by the LMS, which does not say by how much";
  if (loss.within_grace)
    return text +
           fmt::format(", within the grace of {:g} minutes: nothing is taken off.", rules.grace_minutes);
  if (loss.slip_days > 0)
    text += fmt::format(". {:g} of {} {:g} slip days {} used", loss.slip_days,
                        rules.slip_days_per_team ? "your team's" : "your", rules.slip_days,
                        loss.slip_days == 1 ? "is" : "are");
  if (loss.percent == 0) return text + ": nothing is taken off.";
  return text + fmt::format(": {:g} % is taken off, {:g} of {:g} points.", loss.percent,
                            two_digits(loss.points_lost), two_digits(points));
}

json late_rules_json(const Policy::Late& rules) {
  return {{"grace_minutes", rules.grace_minutes},
          {"percent_per_day", rules.percent_per_day},
          {"cap_percent", rules.cap_percent},
          {"max_days", rules.max_days},
          {"marked_days", rules.marked_days},
          {"slip_days", rules.slip_days},
          {"slip_days_per", rules.slip_days_per_team ? "team" : "student"}};
}

Policy::Late late_rules_from(const json& rules) {
  Policy::Late late;
  late.grace_minutes = rules.value("grace_minutes", late.grace_minutes);
  late.percent_per_day = rules.value("percent_per_day", late.percent_per_day);
  late.cap_percent = rules.value("cap_percent", late.cap_percent);
  late.max_days = rules.value("max_days", late.max_days);
  late.marked_days = rules.value("marked_days", late.marked_days);
  late.slip_days = rules.value("slip_days", late.slip_days);
  late.slip_days_per_team = rules.value("slip_days_per", "student") == "team";
  return late;
}

}  // namespace warpgrade
