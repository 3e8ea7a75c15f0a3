#include "course/score/case_score.h"

#include <cmath>

#include "course/score/case_words.h"
#include "course/score/score.h"

namespace warpgrade {

using nlohmann::json;

namespace {

void score_writers(const Policy& policy, const Record& record, CaseScore& result) {
  if (!record.outputs_by || result.verdict != Verdict::kAccepted) return;
  if (record.outputs_by->last_writer == "host") result.line["cpu_only"] = true;
  if (record.outputs_by->kernels == 0) result.line["no_kernel"] = true;
  std::string note = writers_note(record);
  if (note.empty()) return;
  result.earns_nothing = policy.kernel_required;
  if (policy.kernel_required)
    note += ". This case earns no points: let a kernel compute and write the outputs";
  result.line["note"] = note;
}

// How much of a case's speed points a ratio earns.
double share_of(const Policy& policy, double ratio, double threshold) {
  if (ratio >= threshold || threshold <= 0) return 1;
  const double from = policy.partial_from * threshold;
  if (ratio <= from || from >= threshold) return 0;
  return (ratio - from) / (threshold - from);
}

// What reaching a threshold, or how much of it, is worth.
struct Reached {
  // With the benefit of the doubt noise that reaches the threshold earns all; without it, its low end counts.
  Reached(const Policy& policy, double median, double least, double most, double threshold) {
    const bool noise = least < threshold && most >= threshold;
    passes = noise ? policy.within_noise_passes : median >= threshold;
    status = noise ? "within_noise" : passes ? "pass" : "fail";
    share = passes ? 1 : share_of(policy, noise ? least : median, threshold);
  }
  bool passes = false;
  const char* status = "";
  double share = 0;
};

void score_speed(const Policy& policy, const Record& record, double threshold, CaseScore& result) {
  const auto found = policy.ratios_of(record).find(policy.baseline);
  if (found == policy.ratios_of(record).end()) {
    result.line["threshold_status"] = "not_measured";
    return;
  }
  if (!record.node.empty()) result.line["node"] = record.node;
  const Ratio& ratio = found->second;
  result.line["ratio"] = {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
  const HonestSpan span(ratio);
  const Reached reached(policy, ratio.median, span.least, span.most, threshold);
  result.line["threshold_status"] = reached.status;
  result.over_threshold = reached.passes;
  result.speed_share = reached.share;
}

// Noise moves the share as it moves the speed-up.
void score_limit(const Policy& policy, const Record& record, const json& limit, double threshold,
                 CaseScore& result) {
  double least = limit.at("low"), most = limit.at("high");
  const double share = limit.at("share");
  const auto& ratios = policy.ratios_of(record);
  if (const auto found = ratios.find(policy.baseline); found != ratios.end()) {
    const HonestSpan span(found->second);
    const double median = found->second.median;
    if (median > 0) least = share * span.least / median, most = share * span.most / median;
  }
  const Reached reached(policy, share, least, most, threshold);
  result.line["limit_status"] = reached.status;
  result.limit_share = reached.share;
}
std::string language_of(const Record* record) {
  return record == nullptr ? "" : record->submission.language;
}

void score_case_limit(const Policy& policy, const Run& run, const Case& spec, const Record* record,
                      KnownRates& rates, CaseScore& result) {
  const auto threshold = policy.limit_threshold_of(spec, device_of(run, record), language_of(record));
  result.has_limit = threshold.has_value() && policy.limit_points > 0;
  if (result.has_limit) {
    result.line["limit_threshold"] = *threshold;
    result.line["limit_status"] = "not_measured";
  }
  if (record == nullptr || result.verdict != Verdict::kAccepted) return;
  const auto limit = limit_of_record(*record, rates.of(*record));
  if (!limit) return;
  result.line["limit"] = *limit;
  if (result.has_limit) score_limit(policy, *record, *limit, *threshold, result);
}
}  // namespace

HonestSpan::HonestSpan(const Ratio& ratio) : least(ratio.low), most(ratio.high) {
  if (!ratio.noise) return;
  least = ratio.median * std::exp(-*ratio.noise);
  most = ratio.median * std::exp(*ratio.noise);
}

std::string device_of(const Run& run, const Record* record) {
  const std::string name = record == nullptr ? "" : record->device_name();
  return name.empty() ? run.device_name() : name;
}
bool is_of_maximum(const Policy& policy, const Case& spec) {
  return !is_among(policy.dropped, spec) && !value_of(policy.bonus, spec);
}
CaseScore score_case(const Policy& policy, const Run& run, const Case& spec, const Record* record,
                     KnownRates& rates) {
  CaseScore result;
  result.id = spec.id;
  result.weight = value_of(policy.weights, spec).value_or(1);
  result.bonus = value_of(policy.bonus, spec);
  result.line = {{"id", spec.id},
                 {"dataset", spec.dataset},
                 {"k", spec.width},
                 {"kind", spec.kind},
                 {"baseline", policy.baseline}};
  const Outcome outcome = record != nullptr ? record->outcome : Outcome(Verdict::kNotRun, Reason::kNone, "");
  result.verdict = outcome.verdict;
  result.line["verdict"] = result.verdict;
  if (is_among(policy.dropped, spec)) {
    result.dropped = true;
    result.line["dropped"] = true;
    result.line["note"] = "dropped by the staff: it counts neither for nor against you";
    return result;
  }
  if (result.bonus) result.line["bonus"] = true;
  if (outcome.left_out()) {
    result.left_out = true;
    result.line["left_out"] = true;
    result.line["note"] = outcome.message;
    return result;
  }
  if (record != nullptr) score_writers(policy, *record, result);
  if (!spec.is_speed()) return result;
  score_case_limit(policy, run, spec, record, rates, result);
  const auto threshold = policy.threshold_of(spec, device_of(run, record), language_of(record));
  if (!threshold) return result;
  result.has_threshold = true;
  result.line["threshold"] = *threshold;
  if (record != nullptr && result.verdict == Verdict::kAccepted) {
    score_speed(policy, *record, *threshold, result);
  } else {
    result.line["threshold_status"] = "not_measured";
  }
  return result;
}
std::string writers_note(const Record& record) {
  if (!record.outputs_by || !record.outcome.accepted()) return "";
  const OutputsBy& written = *record.outputs_by;
  if (written.last_writer == "host")
    return "CPU only: the host copied the results into the outputs, after the last kernel that wrote them";
  // An answer that is one value all over, as of an empty input, needs no kernel: a fill writes it.
  const bool filled = written.filled_bytes.value_or(0) >= written.bytes;
  return written.kernels == 0 && !filled ? "no kernel was launched" : "";
}
}  // namespace warpgrade
