// What the judge found on one case. A submission's fault is a verdict, never an exception.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include "record/fields.h"

namespace warpgrade {

struct Outcome : typed::Object {
  Verdict verdict = Verdict::kAccepted;
  Reason reason = Reason::kNone;
  std::string message;    // one line for people
  std::string next_step;  // what to do
  nlohmann::json details;

  Outcome() = default;
  Outcome(Verdict a_verdict, Reason a_reason, std::string a_message, std::string a_next_step = "")
      : verdict(a_verdict),
        reason(a_reason),
        message(std::move(a_message)),
        next_step(std::move(a_next_step)) {}

  bool accepted() const { return verdict == Verdict::kAccepted; }
  // The case asks for more than the submission's older interface was promised: not judged, and none of
  // its cases.
  bool left_out() const { return verdict == Verdict::kNotRun && reason == Reason::kLeftOut; }
  bool operator==(const Outcome&) const = default;

  static constexpr std::string_view kName = "Outcome", kHelp = "What a case came to.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("verdict", &Outcome::verdict, "the result"),
        field("reason", &Outcome::reason, "why, as a stable word"),
        field("message", &Outcome::message, "one line for people"),
        field("next_step", &Outcome::next_step, "what to do"),
        field("details", &Outcome::details,
              "`output`: what the program printed; `repetition`; `pattern`; `inputs`, of a wrong answer in a "
              "declared lab: the hard inputs of that run (absent: the case's own)"),
    };
  }
};

inline Outcome outcome_of(const nlohmann::json& record) {
  return record.at("outcome").get<Outcome>();
}

}  // namespace warpgrade
