#include "course/score/journey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "course/ingest/times.h"
#include "course/record/practice.h"
#include "course/score/limit.h"
#include "judge/compile/submission.h"
#include "judge/judging/figures.h"
#include "record/outcome.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kCountsFile = "journey.json";
constexpr const char* kCountsSchema = "warpgrade.journey.v1";

// ---- what was handed in, and what became of it

struct HandIn {
  std::int64_t time = 0;
  Version version;
};

JudgedVersion::Case case_of(const Record& record, KnownRates& rates) {
  JudgedVersion::Case found;
  found.accepted = record.outcome.accepted();
  if (record.counters.is_object()) found.warp_instructions = figure(record.counters, "warp_instructions");
  if (const auto limit = limit_of_record(record, rates.of(record))) found.limit = *limit;
  for (const auto& [baseline, ratio] : record.ratios) {
    if (baseline == "self") continue;  // of --self: the submission's own program, which changes as it does
    const bool has_interval = ratio.confidence.value_or(0.95) > 0 && ratio.low > 0 && ratio.high >= ratio.low;
    if (has_interval && ratio.median > 0)
      found.speedups[baseline] = {std::log(ratio.median), std::log(ratio.high / ratio.low) / 2};
  }
  return found;
}

JudgedVersion judged_in(const fs::path& run, const json& described, const json& attempt,
                        const RecordsOf& records_of) {
  JudgedVersion judged;
  judged.run = run;
  judged.submission = attempt.value("submission", attempt.value("former_submission", ""));
  judged.backend = word(described, "backend");
  judged.device = word(described.value("device", json::object()), "name");
  if (judged.submission.empty()) return judged;
  KnownRates rates;
  for (const Record& record : records_of(judged.submission))
    judged.cases[record.test_case.id] = case_of(record, rates);
  return judged;
}

std::vector<std::string> people_of_attempt(const json& attempt) {
  auto people = attempt.value("members", std::vector<std::string>());
  const std::string student = attempt.at("student");
  if (std::ranges::find(people, student) == people.end()) people.push_back(student);
  return people;
}

// An attempt without a program (a report alone, a file that cannot be read) is no version.
std::optional<HandIn> hand_in_of(const fs::path& run, const json& described, const json& attempt,
                                 const RecordsOf& records_of) {
  HandIn found;
  Version& version = found.version;
  version.snapshot = run / attempt.at("snapshot").get<std::string>();
  if (!fs::is_directory(version.snapshot))
    throw UsageError("{}: this hand-in is gone, and the way there is counted from it; put it back",
                     version.snapshot.string());
  const Submission submission = read_submission(version.snapshot, described.at("lab"), Role::kStudent);
  if (submission.problem) return std::nullopt;
  version.program = submission.hash;
  version.notes = submission.own_notes;
  version.attempt = attempt.value("attempt", 0);
  version.at = attempt.value("submitted_at", "");
  found.time = parse_time(version.at).value_or(0);
  JudgedVersion judged = judged_in(run, described, attempt, records_of);
  if (!judged.cases.empty()) version.judged.push_back(std::move(judged));
  return found;
}

using HandIns = std::map<std::string, std::vector<HandIn>>;  // by student

void add_run(const fs::path& run, const std::string& lab, HandIns& hand_ins) {
  static const Fields kFields{"submission/id",   "case",           "lab",
                              "outcome/verdict", "ratios",         "timing/median_us",
                              "timing/low_us",   "timing/high_us", "floor/compulsory_bytes",
                              "limit",           "device",         "counters/warp_instructions"};
  const RunFolder folder(run);
  if (!folder.has_class()) return;
  const json described = folder.read_run();
  if (described.at("lab") != lab) return;
  const RecordsOf records_of = folder.records_of(described, kFields);
  const json taken = folder.read_class();
  for (const json& attempt : taken.at("attempts")) {
    if (!attempt.contains("snapshot")) continue;
    const auto found = hand_in_of(folder.root(), described, attempt, records_of);
    if (!found) continue;
    for (const std::string& student : people_of_attempt(attempt)) hand_ins[student].push_back(*found);
  }
}

// ---- versions and gains

// By the baseline that both were timed beside, and that says it most narrowly. Both intervals vary, and one
// does not know of the other.
std::optional<LogRatio> faster_by(const JudgedVersion::Case& before, const JudgedVersion::Case& after) {
  std::optional<LogRatio> best;
  for (const auto& [baseline, now] : after.speedups) {
    const auto then = before.speedups.find(baseline);
    if (then == before.speedups.end()) continue;
    const LogRatio gained{now.middle - then->second.middle, std::hypot(now.half, then->second.half)};
    if (!best || gained.half < best->half) best = gained;
  }
  return best;
}

Gain mean_gain(const std::vector<LogRatio>& ratios, const char* of) {
  double sum = 0, squares = 0;
  Gain gain;
  for (const LogRatio& ratio : ratios) {
    sum += ratio.middle;
    squares += ratio.half * ratio.half;
    gain.slower += ratio.middle < -ratio.half ? 1 : 0;
  }
  const double count = static_cast<double>(ratios.size()), half = std::sqrt(squares) / count;
  gain.factor = std::exp(sum / count);
  gain.low = std::exp(sum / count - half);
  gain.high = std::exp(sum / count + half);
  gain.cases = static_cast<int>(ratios.size());
  gain.of = of;
  return gain;
}

// On GPUs of one model, or on the emulator: never across the two.
std::optional<Gain> gain_between(const JudgedVersion& before, const JudgedVersion& after) {
  if (before.backend != after.backend || before.device != after.device) return std::nullopt;
  std::vector<LogRatio> timed, counted;
  for (const auto& [id, now] : after.cases) {
    const auto old = before.cases.find(id);
    if (old == before.cases.end() || !old->second.accepted || !now.accepted) continue;
    const JudgedVersion::Case& then = old->second;
    if (const auto gained = faster_by(then, now)) timed.push_back(*gained);
    if (then.warp_instructions > 0 && now.warp_instructions > 0)
      counted.push_back({std::log(then.warp_instructions / now.warp_instructions), 0});
  }
  if (!timed.empty()) return mean_gain(timed, "time");
  if (!counted.empty()) return mean_gain(counted, "instructions");
  return std::nullopt;
}

// Of the runs that judged both, those that have most cases to compare.
std::optional<Gain> gain_of(const Version& before, const Version& after) {
  std::optional<Gain> best;
  for (const JudgedVersion& old : before.judged)
    for (const JudgedVersion& fresh : after.judged)
      if (const auto gain = gain_between(old, fresh); gain && (!best || gain->cases > best->cases))
        best = gain;
  return best;
}

void add_notes(const std::vector<std::string>& notes, Version& version) {
  for (const std::string& note : notes)
    if (std::ranges::find(version.notes, note) == version.notes.end()) version.notes.push_back(note);
}

Journey journey_of(std::vector<HandIn> hand_ins) {
  std::ranges::stable_sort(hand_ins, {},
                           [](const HandIn& h) { return std::pair(h.time, h.version.attempt); });
  Journey journey;
  std::map<std::string, std::size_t> known;  // by program
  for (HandIn& hand_in : hand_ins) {
    const auto [place, is_new] = known.try_emplace(hand_in.version.program, journey.versions.size());
    if (is_new) {
      journey.versions.push_back(std::move(hand_in.version));
      continue;
    }
    Version& version = journey.versions[place->second];
    add_notes(hand_in.version.notes, version);
    std::ranges::move(hand_in.version.judged, std::back_inserter(version.judged));
  }
  for (std::size_t i = 1; i < journey.versions.size(); ++i)
    journey.versions[i].gain = gain_of(journey.versions[i - 1], journey.versions[i]);
  return journey;
}

// ---- counts

json counted_json(const CountedJourney& counted) {
  return {{"versions", counted.counts.versions},
          {"notes", counted.counts.notes},
          {"gains", counted.counts.gains},
          {"arrived_whole", counted.arrived_whole}};
}

CountedJourney larger(const CountedJourney& one, const CountedJourney& other) {
  const JourneyCounts &a = one.counts, &b = other.counts;
  const JourneyCounts both{std::max(a.versions, b.versions), std::max(a.notes, b.notes),
                           std::max(a.gains, b.gains)};
  return {both, both.versions == 1 && (one.arrived_whole || other.arrived_whole)};
}

CountsByStudent kept_counts(const RunFolder& run) {
  const fs::path file = run.root() / kCountsFile;
  CountsByStudent counts;
  if (!fs::exists(file)) return counts;
  const json kept = json::parse(read_text(file), nullptr, false);
  try {
    if (kept.at("schema") == kCountsSchema) {
      for (const auto& [student, line] : kept.at("students").items())
        counts[student] = {{line.at("versions"), line.at("notes"), line.at("gains")},
                           line.at("arrived_whole")};
      return counts;
    }
  } catch (const json::exception&) {  // of another form
  }
  throw UsageError("{}: expected what `warpgrade journey RUN... --keep-in RUN` writes; write it anew",
                   file.string());
}

json gain_json(const Gain& gain) {
  return {{"factor", gain.factor}, {"low", gain.low}, {"high", gain.high},           {"cases", gain.cases},
          {"slower", gain.slower}, {"of", gain.of},   {"certain", gain.is_certain()}};
}

json judged_json(const JudgedVersion& judged) {
  json line{{"run", judged.run.string()}, {"submission", judged.submission}, {"limits", json::object()}};
  for (const auto& [id, each] : judged.cases)
    if (!each.limit.is_null()) line["limits"][id] = each.limit;
  return line;
}

// The fullest comes first, and of equal ones the first that was handed in.
json all_judged_json(std::vector<JudgedVersion> judged) {
  std::ranges::stable_sort(judged, std::greater(), [](const JudgedVersion& j) { return j.cases.size(); });
  json lines = json::array();
  for (const JudgedVersion& each : judged) lines.push_back(judged_json(each));
  return lines;
}

json version_json(const Version& version) {
  json line{{"snapshot", version.snapshot.string()},
            {"program", version.program},
            {"attempt", version.attempt},
            {"at", version.at},
            {"notes", version.notes},
            {"judged", all_judged_json(version.judged)}};
  for (const fs::path& file : version.counted) line["counted"].push_back(file.string());
  if (version.gain) line["gain"] = gain_json(*version.gain);
  return line;
}

}  // namespace

bool JudgedVersion::all_right() const {
  return !cases.empty() &&
         std::ranges::all_of(cases, [](const auto& entry) { return entry.second.accepted; });
}

const JudgedVersion* Version::fullest() const {
  const auto found =
      std::ranges::max_element(judged, {}, [](const JudgedVersion& j) { return j.cases.size(); });
  return found == judged.end() ? nullptr : &*found;
}

CountedJourney Journey::counted() const {
  CountedJourney counted;
  counted.counts.versions = static_cast<int>(versions.size());
  for (const Version& version : versions) {
    counted.counts.notes += version.notes.empty() ? 0 : 1;
    counted.counts.gains += version.gain && version.gain->is_certain() && version.gain->factor > 1 ? 1 : 0;
  }
  const JudgedVersion* judged = versions.empty() ? nullptr : versions[0].fullest();
  counted.arrived_whole = versions.size() == 1 && judged != nullptr && judged->all_right();
  return counted;
}

Journeys journeys_of(const std::vector<fs::path>& runs, const std::string& lab) {
  HandIns hand_ins;
  for (const fs::path& run : runs) add_run(run, lab, hand_ins);
  Journeys journeys;
  for (auto& [student, own] : hand_ins) journeys[student] = journey_of(std::move(own));
  return journeys;
}

void add_counted(const std::vector<fs::path>& summaries, const std::string& lab, Journeys& journeys) {
  std::map<std::string, std::vector<fs::path>> by_program;
  for (const fs::path& file : summaries) {
    const json summary = json::parse(read_text(file), nullptr, false);
    if (!summary.is_object() || word(summary, "schema") != "warpgrade.hardware.v1") continue;
    if (word(summary, "lab") == lab) by_program[word(summary, "submission")].push_back(file);
  }
  for (auto& [student, journey] : journeys)
    for (Version& version : journey.versions)
      if (const auto found = by_program.find(version.program); found != by_program.end())
        version.counted = found->second;
}

json journeys_json(const Journeys& journeys, const std::string& lab) {
  json students = json::array();
  for (const auto& [student, journey] : journeys) {
    json line{{"student", student}, {"counts", counted_json(journey.counted())}, {"versions", json::array()}};
    for (const Version& version : journey.versions) line["versions"].push_back(version_json(version));
    students.push_back(std::move(line));
  }
  return {{"schema", "warpgrade.journeys.v1"}, {"lab", lab}, {"students", std::move(students)}};
}

void keep_counts(const fs::path& run, const Journeys& journeys, const std::vector<fs::path>& counted) {
  json kept{{"schema", kCountsSchema}, {"runs", json::array()}, {"students", json::object()}};
  for (const fs::path& each : counted) kept["runs"].push_back(each.string());
  for (const auto& [student, journey] : journeys) kept["students"][student] = counted_json(journey.counted());
  write_text(run / kCountsFile, json_text(kept, 1) + "\n");
}

std::optional<CountsByStudent> journey_counts(const RunFolder& run, const Policy& policy) {
  if (policy.journey_points <= 0 || !run.has_class() || fs::exists(run.root() / kPracticeFile))
    return std::nullopt;
  CountsByStudent counts = kept_counts(run);
  for (const auto& [student, journey] : journeys_of({run.root()}, policy.lab))
    counts[student] = larger(counts[student], journey.counted());
  return counts;
}

CountedJourney counted_of(const CountsByStudent& counts, const std::vector<std::string>& people) {
  CountedJourney all;
  for (const std::string& student : people)
    if (const auto found = counts.find(student); found != counts.end()) all = larger(all, found->second);
  return all;
}

double journey_share(const JourneyCounts& asked, const JourneyCounts& reached) {
  double earned = 0;
  int parts = 0;
  for (const auto count : {&JourneyCounts::versions, &JourneyCounts::notes, &JourneyCounts::gains}) {
    if (asked.*count == 0) continue;
    ++parts;
    earned += std::min(1.0, static_cast<double>(reached.*count) / (asked.*count));
  }
  return parts == 0 ? 0 : earned / parts;
}

}  // namespace warpgrade
