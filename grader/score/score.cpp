#include "score/score.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/verdict.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// From bad to worse; the submission's verdict is its worst case's. What is nobody's fault ranks below every
// fault.
int severity(const std::string& verdict) {
  constexpr const char* kOrder[] = {
      verdicts::kAccepted,       verdicts::kNotRun,       verdicts::kJudgeFault,  verdicts::kNotImplemented,
      verdicts::kTimingRejected, verdicts::kWrongAnswer,  verdicts::kMemoryLimit, verdicts::kTimeLimit,
      verdicts::kRuntimeError,   verdicts::kCompileError, verdicts::kCheating};
  const auto found = std::find(std::begin(kOrder), std::end(kOrder), verdict);
  return static_cast<int>(found - std::begin(kOrder));
}

bool undecided(const std::string& verdict) {
  return verdict == verdicts::kJudgeFault || verdict == verdicts::kNotRun;
}

struct CaseScore {
  json line;
  std::string verdict = verdicts::kNotRun;
  double speed_share = 0;  // 0 .. 1 of the case's speed points
  bool has_threshold = false, over_threshold = false, measured = false;
  bool left_out = false;  // beyond what the submission's older interface was promised: none of its cases
};

// How much of a case's speed points a ratio earns.
double share_of(const Policy& policy, double ratio, double threshold) {
  if (ratio >= threshold || threshold <= 0) return 1;
  const double from = policy.partial_from * threshold;
  if (ratio <= from || from >= threshold) return 0;
  return (ratio - from) / (threshold - from);
}

void score_speed(const Policy& policy, const json& record, double threshold, CaseScore& result) {
  const auto ratios = record.find("ratios");
  const auto ratio = ratios == record.end() ? json::const_iterator() : ratios->find(policy.baseline);
  if (ratios == record.end() || ratio == ratios->end()) {
    result.line["threshold_status"] = "not_measured";
    return;
  }
  result.measured = true;
  const double median = ratio->at("median"), low = ratio->at("low"), high = ratio->at("high");
  result.line["ratio"] = {{"median", median}, {"low", low}, {"high", high}};
  const bool noise = low < threshold && high >= threshold;
  const bool passes = noise ? policy.within_noise_passes : median >= threshold;
  result.line["threshold_status"] = noise ? "within_noise" : passes ? "pass" : "fail";
  result.over_threshold = passes;
  // With the benefit of the doubt an interval that reaches the threshold earns all; without it, its low end
  // counts.
  result.speed_share = passes ? 1 : share_of(policy, noise ? low : median, threshold);
}

CaseScore score_case(const Policy& policy, const json& spec, const json* record) {
  CaseScore result;
  result.line = {{"id", spec.at("id")},
                 {"dataset", spec.at("dataset")},
                 {"k", spec.at("k")},
                 {"kind", spec.at("kind")},
                 {"baseline", policy.baseline}};
  if (record != nullptr) result.verdict = record->at("outcome").at("verdict");
  result.line["verdict"] = result.verdict;
  if (record != nullptr && is_left_out(record->at("outcome"))) {
    result.left_out = true;
    result.line["left_out"] = true;
    result.line["note"] = record->at("outcome").value("message", "left out");
    return result;
  }
  if (spec.at("kind") != "speed") return result;
  const auto threshold = policy.threshold(spec.at("dataset"), spec.at("k"));
  if (!threshold) return result;
  result.has_threshold = true;
  result.line["threshold"] = *threshold;
  if (record != nullptr && result.verdict == verdicts::kAccepted) {
    score_speed(policy, *record, *threshold, result);
  } else {
    result.line["threshold_status"] = "not_measured";
  }
  return result;
}

json score_submission(const Policy& policy, const json& submission, const json& specs,
                      const std::map<std::string, const json*>& records, bool speed_measured) {
  std::vector<CaseScore> cases;
  for (const json& spec : specs) {
    const auto found = records.find(spec.at("id").get<std::string>());
    cases.push_back(score_case(policy, spec, found == records.end() ? nullptr : found->second));
  }
  int correct = 0, decided = 0, with_threshold = 0, over = 0, left_out = 0;
  std::string worst = verdicts::kAccepted;
  for (const CaseScore& c : cases) {
    if (c.left_out) {
      ++left_out;
      continue;
    }
    if (severity(c.verdict) > severity(worst)) worst = c.verdict;
    decided += undecided(c.verdict) ? 0 : 1;
    correct += c.verdict == verdicts::kAccepted ? 1 : 0;
    if (c.has_threshold && !undecided(c.verdict)) {
      ++with_threshold;
      over += c.over_threshold ? 1 : 0;
    }
  }
  if (left_out == static_cast<int>(cases.size())) worst = verdicts::kNotRun;  // nothing was judged
  const bool all_correct = correct == decided;
  double points = 0;
  json lines = json::array();
  for (CaseScore& c : cases) {
    double earned = 0, possible = 0;
    if (!undecided(c.verdict)) {
      possible = policy.correctness_points / decided;
      earned = c.verdict == verdicts::kAccepted ? possible : 0;
      if (c.has_threshold && speed_measured) {
        const double speed = policy.speed_points / with_threshold;
        possible += speed;
        if (all_correct || !policy.speed_needs_all_correct) earned += speed * c.speed_share;
      }
    } else if (!c.left_out) {
      c.line["note"] = "not judged: earns nothing and costs nothing until it is";
    }
    c.line["points"] = earned;
    c.line["max_points"] = possible;
    points += earned;
    lines.push_back(std::move(c.line));
  }
  json result = submission;
  result["points"] = points;
  result["max_points"] = policy.correctness_points + (speed_measured ? policy.speed_points : 0);
  result["verdict"] = worst;
  result["correct_cases"] = correct;
  const int total = static_cast<int>(cases.size()) - left_out;
  result["total_cases"] = total;
  result["undecided_cases"] = total - decided;
  if (left_out > 0) result["left_out_cases"] = left_out;
  result["over_threshold"] = over;
  result["threshold_cases"] = with_threshold;
  result["speed_measured"] = speed_measured;
  result["cases"] = std::move(lines);
  return result;
}

// Takes off what the policy says; a submission that nobody knows the time of is in time.
void apply_late_rules(const Policy& policy, json& submission) {
  if (!policy.late) return;
  const bool known = submission.contains("late_s");
  const double seconds = submission.value("late_s", 0.0);
  const bool marked = !known && submission.value("late_marked", false);
  double days = marked ? policy.late->marked_days : 0;
  if (seconds > 60 * policy.late->grace_minutes) days = std::ceil(seconds / 86400);
  const double percent = days > policy.late->max_days
                             ? 100
                             : std::min(policy.late->cap_percent, days * policy.late->percent_per_day);
  const double before = submission.at("points");
  submission["points_before_late"] = before;
  submission["points"] = before * (1 - percent / 100);
  json late{{"days", days}, {"percent", percent}, {"points_lost", before * percent / 100}};
  if (known) late["seconds"] = seconds;
  if (marked) late["note"] = "marked late by the LMS, which does not say by how much";
  submission["late"] = std::move(late);
}

// Of several attempts of one student or team the one with the most points counts, of equal ones the latest.
void choose_attempts(json& submissions) {
  std::map<std::string, json*> best;
  for (json& submission : submissions) {
    if (!submission.contains("members")) continue;
    submission["counts"] = false;
    json*& so_far = best[submission["members"].dump()];
    if (so_far == nullptr || submission["points"].get<double>() >= (*so_far)["points"].get<double>())
      so_far = &submission;
  }
  for (auto& [members, submission] : best) (*submission)["counts"] = true;
}

}  // namespace

json score(const Policy& policy, const json& run, const std::vector<json>& records) {
  std::map<std::string, std::map<std::string, const json*>> by_submission;
  for (const json& record : records) {
    by_submission[record.at("submission").at("id")][record.at("case").at("id")] = &record;
  }
  // Speed counts in a run that measures it: on a GPU, with at least one case that has a threshold.
  bool speed_measured = false;
  for (const json& spec : run.at("cases")) {
    speed_measured |= run.at("backend") == "cuda" && spec.at("kind") == "speed" &&
                      policy.threshold(spec.at("dataset"), spec.at("k")).has_value();
  }
  json submissions = json::array();
  for (const json& submission : run.at("submissions")) {
    submissions.push_back(score_submission(policy, submission, run.at("cases"),
                                           by_submission[submission.at("id")], speed_measured));
    apply_late_rules(policy, submissions.back());
  }
  choose_attempts(submissions);
  return {{"schema", "warpgrade.scores.v1"},
          {"run", run.at("run")},
          {"policy_name", policy.name},
          {"policy_hash", policy.hash},
          {"max_points", policy.correctness_points + (speed_measured ? policy.speed_points : 0)},
          {"submissions", std::move(submissions)}};
}

}  // namespace warpgrade
