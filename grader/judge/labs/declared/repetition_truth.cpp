#include "judge/labs/declared/repetition_truth.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace warpgrade::declared {
namespace {

// A magnitude that the baseline gives is rounded as its sums are: this much of it is not counted on.
constexpr double kMagnitudeLeft = 0.998;

}  // namespace

// With a truth T, the baseline's b and a program's s: |s - T| <= |s - b| + |b - T|, and what is allowed at T
// is at least 1 / (1 + relative * error) of what is allowed at b.
double share_left(const CellCheck& check, const Held& held) {
  const double left = std::max(0.0, 1 - held.error_over_bound);
  if (check.kind == declaration::CheckKind::kTolerance)
    return left / (1 + check.relative * held.error_over_bound);
  return check.kind == declaration::CheckKind::kBound ? kMagnitudeLeft * left : left;
}

RepetitionTruth::Source RepetitionTruth::source(int repetition, int kind) const {
  const bool trusted = is_held(kind) && repetition != chosen_ && !gave_up();
  return trusted ? Source::kBaseline : Source::kOracle;
}

void RepetitionTruth::hold(int kind, const Held& held) {
  Held& known = held_[kind];
  known.error_over_bound = std::max(known.error_over_bound, held.error_over_bound);
  known.rms_over_limit = std::max(known.rms_over_limit, held.rms_over_limit);
}

void RepetitionTruth::count_oracle(int repetition, bool with_baseline) {
  ++by_oracle_;
  both_answered_ = both_answered_ || (with_baseline && repetition == chosen_);
}

std::optional<RepetitionTruth::Finding> RepetitionTruth::settle(int kind, const OutputsCompared& outputs,
                                                                const AskOracle& ask,
                                                                const BaselineFault& fault) {
  // Root mean squares add up like sides of a triangle.
  const bool spread =
      outputs.rms_over_limit > 0 && outputs.rms_over_limit + held(kind).rms_over_limit > kMagnitudeLeft;
  if (outputs.same && !spread) {
    ++by_baseline_;
    return std::nullopt;
  }
  ++asked_again_;
  ++by_oracle_;
  if (const auto wrong = ask(Program::kBaseline)) fault(*wrong);
  return ask(Program::kSubmission);
}

nlohmann::json RepetitionTruth::to_json() const {
  nlohmann::json json{{"oracle", by_oracle_}, {"baseline", by_baseline_}, {"asked_again", asked_again_}};
  double most = 0;
  for (const auto& [kind, held] : held_) most = std::max(most, held.error_over_bound);
  if (!held_.empty()) json["baseline_max_error_over_bound"] = most;
  return json;
}

}  // namespace warpgrade::declared
