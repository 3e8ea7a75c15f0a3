#include "course/score/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "course/score/case_score.h"
#include "course/score/case_words.h"
#include "course/score/late.h"
#include "course/score/limit.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using nlohmann::json;

using CaseRecords = std::map<std::string, Record>;  // of one submission, by case

// Whether a submission is as fast as the gate asks before anything earns points.
json gate_of(const Policy& policy, const Run& run, const CaseRecords& records, bool speed_measured) {
  json gates = json::array();
  for (const auto& [baseline, needed] : policy.faster_than) {
    double logarithms = 0, favourable = 0;
    int measured = 0, open = 0;
    for (const Case& spec : run.cases) {
      if (!spec.is_speed() || !is_of_maximum(policy, spec)) continue;
      const auto found = records.find(spec.id);
      if (found == records.end() || is_undecided(found->second.outcome.verdict)) {
        ++open;
        continue;
      }
      const auto& ratios = policy.ratios_of(found->second);
      const auto ratio = ratios.find(baseline);
      if (!found->second.outcome.accepted() || ratio == ratios.end()) continue;
      logarithms += std::log(std::max(1e-9, ratio->second.median));
      favourable += std::log(std::max(1e-9, HonestSpan(ratio->second).most));
      ++measured;
    }
    json gate{{"baseline", baseline}, {"needed", needed}};
    if (measured > 0) gate["reached"] = std::exp(logarithms / measured);
    const bool decided = speed_measured && (measured > 0 || open == 0);
    const double counted =
        std::exp((policy.within_noise_passes ? favourable : logarithms) / std::max(1, measured));
    gate["status"] = !decided ? "not_measured" : measured > 0 && counted >= needed ? "pass" : "fail";
    gates.push_back(std::move(gate));
  }
  return gates;
}

struct Tally {
  int correct = 0, decided = 0, with_threshold = 0, over = 0, left_out = 0, dropped = 0, bonus = 0;
  Verdict worst = Verdict::kAccepted;
};

Tally tally_of(const std::vector<CaseScore>& cases) {
  Tally tally;
  for (const CaseScore& c : cases) {
    tally.dropped += c.dropped ? 1 : 0;
    tally.left_out += c.left_out ? 1 : 0;
    tally.bonus += c.bonus && !c.dropped && !c.left_out ? 1 : 0;
    if (c.dropped || c.left_out || c.bonus) continue;
    if (facts(c.verdict).severity > facts(tally.worst).severity) tally.worst = c.verdict;
    tally.decided += is_undecided(c.verdict) ? 0 : 1;
    tally.correct += c.verdict == Verdict::kAccepted ? 1 : 0;
    if (c.has_threshold && !is_undecided(c.verdict)) {
      ++tally.with_threshold;
      tally.over += c.over_threshold ? 1 : 0;
    }
  }
  if (tally.left_out + tally.dropped + tally.bonus == static_cast<int>(cases.size()))
    tally.worst = Verdict::kNotRun;  // nothing was judged
  return tally;
}

// How the points of one part are divided among the cases that take part: those with a share of their own have
// it, the others have the rest by weight. Where no other is left, the shares grow until they are the whole.
template <class TakesPart>
std::vector<double> divided(double points, const std::vector<CaseScore>& cases,
                            const std::map<std::string, Policy::Share>& shares, double Policy::Share::*part,
                            const TakesPart& takes_part) {
  double fixed = 0, weights = 0;
  for (const CaseScore& c : cases) {
    if (!takes_part(c)) continue;
    const auto share = shares.find(c.id);
    share == shares.end() ? weights += c.weight : fixed += share->second.*part;
  }
  const double scale = weights > 0 || fixed <= 0 ? 1 : points / fixed;
  std::vector<double> amounts;
  for (const CaseScore& c : cases) {
    const auto share = shares.find(c.id);
    const double own = share == shares.end() ? (weights > 0 ? (points - fixed) * c.weight / weights : 0)
                                             : scale * share->second.*part;
    amounts.push_back(takes_part(c) ? own : 0);
  }
  return amounts;
}

// Which parts a run measures: speed and shares of the limit on a GPU, with at least one case that has a
// threshold; those of the limit where the GPU's rates are known. The way there, where hand-ins are kept.
struct Measured {
  bool speed = false, limit = false;
  const CountsByStudent* journeys = nullptr;  // of those who are in the run; nullptr: nobody counted
  double points(const Policy& policy) const {
    return policy.correctness_points + (speed ? policy.speed_points : 0) + (limit ? policy.limit_points : 0) +
           (journeys != nullptr ? policy.journey_points : 0);
  }
};

// Points by part, and each case's share of them.
void earn(const Policy& policy, const Tally& tally, bool gated, const Measured& measured,
          std::vector<CaseScore>& cases, json& result) {
  const auto judged = [](const CaseScore& c) { return c.shares_points(); };
  const auto timed = [&](const CaseScore& c) { return judged(c) && c.has_threshold && measured.speed; };
  const auto limited = [&](const CaseScore& c) { return judged(c) && c.has_limit && measured.limit; };
  const std::vector<double> right =
      divided(policy.correctness_points, cases, policy.shares, &Policy::Share::correctness, judged);
  const std::vector<double> quick =
      divided(policy.speed_points, cases, policy.shares, &Policy::Share::speed, timed);
  const std::vector<double> near =
      divided(policy.limit_points, cases, policy.shares, &Policy::Share::limit, limited);
  const bool speed_earns = tally.correct == tally.decided || !policy.speed_needs_all_correct;
  double correctness = 0, fast = 0, limit = 0, bonus = 0;
  json lines = json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CaseScore& c = cases[i];
    const bool earns = c.verdict == Verdict::kAccepted && c.is_judged() && !gated && !c.earns_nothing;
    const double of_speed = earns && speed_earns ? quick[i] * c.speed_share : 0;
    const double of_limit = earns && speed_earns ? near[i] * c.limit_share : 0;
    const double of_bonus = earns && c.bonus ? *c.bonus * (c.has_threshold ? c.speed_share : 1.0) : 0;
    const double of_correctness = earns ? right[i] : 0;
    correctness += of_correctness;
    fast += of_speed;
    limit += of_limit;
    bonus += of_bonus;
    if (is_undecided(c.verdict) && !c.left_out && !c.dropped)
      c.line["note"] = "not judged yet: it earns no points, and you lose none for it";
    c.line["points"] = of_correctness + of_speed + of_limit + of_bonus;
    c.line["max_points"] = c.bonus && c.is_judged() ? *c.bonus : right[i] + quick[i] + near[i];
    lines.push_back(std::move(c.line));
  }
  result["points"] = correctness + fast + limit + bonus;
  result["parts"] = {{"correctness", correctness}};
  if (measured.speed) result["parts"]["speed"] = fast;
  if (measured.limit) result["parts"]["limit"] = limit;
  if (!policy.bonus.empty()) result["parts"]["bonus"] = result["bonus"] = bonus;
  result["cases"] = std::move(lines);
}

// Neither a gate nor a wrong case takes these points: they are for the work.
void earn_journey(const Policy& policy, const CountsByStudent& journeys, json& result) {
  const auto [counts, arrived_whole] = counted_of(journeys, Scored(result).people());
  const JourneyCounts& asked = policy.journey;
  const double points = policy.journey_points * journey_share(asked, counts);
  std::string note;
  const auto say = [&](int wanted, int reached, const char* what) {
    if (wanted > 0) note += fmt::format("{}{} of {} {}", note.empty() ? "" : ", ", reached, wanted, what);
  };
  say(asked.versions, counts.versions, "versions");
  say(asked.notes, counts.notes, "with a note");
  say(asked.gains, counts.gains, "faster than the one before, beyond noise");
  result["journey"] = {{"versions", counts.versions},
                       {"notes", counts.notes},
                       {"gains", counts.gains},
                       {"arrived_whole", arrived_whole},
                       {"points", points},
                       {"max_points", policy.journey_points},
                       {"note", note}};
  result["parts"]["journey"] = points;
  result["points"] = result.at("points").get<double>() + points;
}

json score_submission(const Policy& policy, const Run& run, const json& submission,
                      const CaseRecords& records, const Measured& measured, KnownRates& rates) {
  std::vector<CaseScore> cases;
  for (const Case& spec : run.cases) {
    const auto found = records.find(spec.id);
    cases.push_back(score_case(policy, run, spec, found == records.end() ? nullptr : &found->second, rates));
  }
  const Tally tally = tally_of(cases);
  json result = submission;
  const json gates = gate_of(policy, run, records, measured.speed);
  const bool gated =
      std::any_of(gates.begin(), gates.end(), [](const json& gate) { return gate.at("status") == "fail"; });
  if (!gates.empty()) result["gates"] = gates;
  earn(policy, tally, gated, measured, cases, result);
  if (measured.journeys != nullptr && Scored(submission).is_students())
    earn_journey(policy, *measured.journeys, result);
  result["max_points"] = policy.max_points();
  result["measured_points"] = measured.points(policy);
  // A hand-in that was not taken was not compiled either, whatever its records had to say.
  result["verdict"] = submission.contains("refused") ? Verdict::kRefused : tally.worst;
  result["correct_cases"] = tally.correct;
  const int total = static_cast<int>(cases.size()) - tally.left_out - tally.dropped - tally.bonus;
  result["total_cases"] = total;
  result["undecided_cases"] = total - tally.decided;
  if (tally.dropped > 0) result["dropped_cases"] = tally.dropped;
  if (tally.left_out > 0) result["left_out_cases"] = tally.left_out;
  result["over_threshold"] = tally.over;
  result["threshold_cases"] = tally.with_threshold;
  result["speed_measured"] = measured.speed;
  return result;
}

// Takes off what the policy says; within one run all slip days can be used. A submission in time, or of a
// time that nobody knows, has no `late`.
void apply_late_rules(const Policy& policy, json& submission) {
  if (!policy.late) return;
  std::optional<double> seconds;
  if (submission.contains("late_s")) seconds = submission.at("late_s").get<double>();
  const bool marked = !seconds && submission.value("late_marked", false);
  if (!marked && seconds.value_or(0) <= 0) return;
  const double before = submission.at("points");
  const LateLoss loss = late_loss(*policy.late, seconds, marked, before, policy.late->slip_days);
  json late{{"days", loss.days}, {"percent", loss.percent}, {"points_lost", loss.points_lost}};
  if (seconds) late["seconds"] = *seconds;
  if (policy.late->slip_days > 0) late["slip_days"] = loss.slip_days;
  if (loss.within_grace) late["within_grace"] = true;
  late["note"] = late_note(*policy.late, seconds, loss, before);
  if (loss.percent > 0) {
    submission["points_before_late"] = before;
    submission["points"] = before * (1 - loss.percent / 100);
  }
  submission["late"] = std::move(late);
}

// Of several attempts of one student or team the one with the most points counts, of equal ones the latest;
// or, where `which` says so, the last or the first.
void choose_attempts(const std::string& which, json& submissions) {
  const auto wins = [&](const Scored& submission, const Scored& so_far) {
    if (which == "last") return submission.attempt >= so_far.attempt;
    if (which == "first") return submission.attempt < so_far.attempt;
    return submission.points > so_far.points ||
           (submission.points == so_far.points && submission.attempt >= so_far.attempt);
  };
  std::map<std::string, json*> best;
  for (json& submission : submissions) {
    if (!submission.contains("members")) continue;
    submission["counts"] = false;
    json*& so_far = best[submission["members"].dump()];
    if (so_far == nullptr || wins(submission, *so_far)) so_far = &submission;
  }
  for (auto& [members, submission] : best) (*submission)["counts"] = true;
}

// What the cases of the run can earn beyond the maximum.
double max_bonus(const Policy& policy, const Run& run) {
  double most = 0;
  for (const Case& spec : run.cases)
    if (!is_among(policy.dropped, spec)) most += value_of(policy.bonus, spec).value_or(0);
  return most;
}

// "n1 (24), n2 (12)": the nodes of a cluster whose times decided on thresholds, with the number of cases.
std::string threshold_nodes(const json& submissions) {
  std::map<std::string, int> decided;
  for (const json& submission : submissions)
    for (const json& line : submission.at("cases"))
      if (line.contains("node")) ++decided[line.at("node")];
  std::string text;
  for (const auto& [node, cases] : decided)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node, cases);
  return text;
}

using UseRecords = std::function<void(const CaseRecords&)>;
using WithRecords = std::function<void(const std::string& submission, const UseRecords& use)>;

Measured measured_in(const Policy& policy, const Run& run) {
  Measured measured;
  if (!run.on_gpu()) return measured;
  const std::string device = device_of(run);
  const bool has_rates = policy.limit_points > 0 && (run.imagined || limit_rates(run.device).has_value());
  for (const Case& spec : run.cases) {
    if (!spec.is_speed() || !is_of_maximum(policy, spec)) continue;
    measured.speed |= policy.thresholds_for(device).of(spec).has_value();
    measured.limit |= has_rates && policy.limit_thresholds_for(device).of(spec).has_value();
  }
  return measured;
}

json score_each(const Policy& policy, const Run& run, const std::optional<CountsByStudent>& journeys,
                const WithRecords& with_records) {
  Measured measured = measured_in(policy, run);
  if (policy.journey_points > 0 && journeys) measured.journeys = &*journeys;
  KnownRates rates;
  // Who is judged on another model than the thresholds' is told so.
  std::string note = policy.thresholds_note(device_of(run));
  json submissions = json::array();
  for (const json& submission : run.submissions) {
    with_records(submission.at("id"), [&](const CaseRecords& records) {
      for (const Case& spec : run.cases) {
        const auto record = records.find(spec.id);
        if (note.empty() && record != records.end())
          note = policy.thresholds_note(device_of(run, &record->second));
      }
      submissions.push_back(score_submission(policy, run, submission, records, measured, rates));
    });
    apply_late_rules(policy, submissions.back());
  }
  choose_attempts(run.attempts, submissions);
  json scores{{"schema", "warpgrade.scores.v1"},      {"run", run.run},
              {"policy_name", policy.name},           {"policy_hash", policy.hash},
              {"max_points", policy.max_points()},    {"measured_points", measured.points(policy)},
              {"submissions", std::move(submissions)}};
  if (!policy.bonus.empty()) scores["max_bonus"] = max_bonus(policy, run);
  if (policy.late) scores["late_rules"] = late_rules_json(*policy.late);
  if (measured.speed && !note.empty()) scores["thresholds_note"] = note;
  if (!rates.first().is_null()) scores["limits"] = rates.first();
  if (policy.limit_points > 0 && run.on_gpu() && !measured.limit)
    scores["limits_note"] = fmt::format(
        "The share of the limit was not measured: no rates of {} are known, or no case has a threshold "
        "there.",
        device_of(run).empty() ? "this GPU" : device_of(run));
  if (policy.journey_points > 0 && measured.journeys == nullptr)
    scores["open_note"] =
        fmt::format("{}{}The way there is not counted in this run, which keeps no hand-ins of a class.",
                    measured.speed ? "" : "Speed was not measured in this run. ",
                    scores.contains("limits_note") ? scores["limits_note"].get<std::string>() + " " : "");
  if (const std::string nodes = threshold_nodes(scores["submissions"]); !nodes.empty())
    scores["threshold_nodes"] = nodes;
  return scores;
}

}  // namespace

const Fields& score_fields() {
  static const Fields fields{"submission/id",
                             "lab",
                             "case",
                             "outcome/verdict",
                             "outcome/reason",
                             "outcome/message",
                             "outputs_by",
                             "ratios",
                             "ratios_with_host",
                             "device",
                             "node",
                             "timing/median_us",
                             "timing/low_us",
                             "timing/high_us",
                             "floor/compulsory_bytes"};
  return fields;
}

json score(const Policy& policy, const Run& run, const std::vector<Record>& records,
           const std::optional<CountsByStudent>& journeys) {
  std::map<std::string, CaseRecords> by_submission;
  for (const Record& record : records)
    by_submission[record.submission.id].insert_or_assign(record.test_case.id, record);
  return score_each(policy, run, journeys, [&](const std::string& submission, const UseRecords& use) {
    use(by_submission[submission]);
  });
}

json score_by_submission(const Policy& policy, const Run& run, const RecordsOf& records_of,
                         const std::optional<CountsByStudent>& journeys) {
  return score_each(policy, run, journeys, [&](const std::string& submission, const UseRecords& use) {
    CaseRecords by_case;
    for (Record& record : records_of(submission)) {
      const std::string id = record.test_case.id;
      by_case.insert_or_assign(id, std::move(record));
    }
    use(by_case);
  });
}

}  // namespace warpgrade
