// What handing in late costs, with slip days: days that a student or a team may be late over the course for
// nothing. A pure function of the policy, so that a run (the whole budget) and the gradebook (what earlier
// labs have left of it) come to the same points. Autolab counts in this way too (its grace days,
// app/models/assessment_user_datum.rb: days late, less the days used, are penalised); other than there, no
// day is used where it would save nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "course/score/policy.h"

namespace warpgrade {

struct LateLoss {
  double days = 0;       // late; a day begins with its first second
  double slip_days = 0;  // of these, used: the fewest that make the loss as small as it can be
  double percent = 0;    // of the points, for the days that are left
  double points_lost = 0;
  bool within_grace = false;
};

// Of a hand-in that would earn `points`. `late_seconds` is absent where nobody knows by how much, and
// `marked` says that an LMS called it late.
LateLoss late_loss(const Policy::Late& rules, std::optional<double> late_seconds, bool marked, double points,
                   double slip_days_left);

// What a student is told: how late, which slip days, what it costs, of how much.
std::string late_note(const Policy::Late& rules, std::optional<double> late_seconds, const LateLoss& loss,
                      double points);

// `late_rules` of scores.json: the policy's keys and words.
nlohmann::json late_rules_json(const Policy::Late& rules);
Policy::Late late_rules_from(const nlohmann::json& rules);

}  // namespace warpgrade
