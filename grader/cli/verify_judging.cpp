#include "cli/verify_judging.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/toolchain.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "course/record/run_folder.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/usable_cores.h"
#include "record/outcome.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kMostAtOnce = 16;  // programs, of honest runs

}  // namespace

VerifyJudging::SecondsOfCases VerifyJudging::Judged::seconds_of_naive() const {
  const auto naive = found.find("naive");
  return naive == found.end() ? SecondsOfCases() : naive->second.cases;
}

std::vector<std::string> VerifyJudging::correctness_cases() const {
  std::vector<std::string> cases;
  for (const auto& c : lab_.cases)
    if (c.kind == "correctness") cases.push_back(c.id);
  return cases;
}

void VerifyJudging::make_class(const std::vector<Expected>& submissions, const std::string& backend,
                               const fs::path& scratch, GradeOptions& options) const {
  options.lab = lab_.name;
  options.submissions = scratch / "class";
  options.run = scratch / "run";
  options.backend = backend;
  options.beside_others = true;                      // false alarms are looked for meanwhile
  if (backend != "cuda") options.baselines.clear();  // nothing is timed there
  options.allow_unsandboxed = options_.allow_unsandboxed;
  options.quiet = true;
  make_directories(*options.submissions);
  for (const Expected& one : submissions)
    fs::copy(one.from, *options.submissions / one.id, fs::copy_options::recursive);
}

std::future<void> VerifyJudging::compile_ahead(const std::string& backend) const {
  return std::async(std::launch::async, [this, backend] {
    try {
      const TemporaryDirectory scratch("warpgrade-verify");
      GradeOptions options = without_clock({});
      make_class(expected_verdicts(lab_), backend, scratch.path(), options);
      compile_only(options);
    } catch (const std::exception&) {  // the run itself will tell
    }
  });
}

// Judges the submissions and adds to `found` what came of them; the run's scores. `cases`: empty for all.
json VerifyJudging::judge(const std::vector<Expected>& submissions, const std::string& backend,
                          GradeOptions options, Found& found, VerifyProgress::Step& step) const {
  const TemporaryDirectory scratch("warpgrade-verify");
  make_class(submissions, backend, scratch.path(), options);
  options.watcher = &step;
  // A wrong program has shown enough with one refused case; speed says something of two solutions alone.
  for (const Expected& one : submissions) {
    if (one.is_wrong() && !found.contains(one.id)) options.until_refused.insert(one.id);
    const bool by_time = one.verdict == Verdict::kTimingRejected || one.verdict == Verdict::kCheating;
    if (!by_time && one.id != "naive" && one.id != "optimized") options.untimed.insert(one.id);
  }
  const auto cases = select_cases(find_lab(lab_.name), policy(), options.cases, backend).size();
  step.expect(static_cast<int>(submissions.size()), static_cast<int>(cases), options.until_refused);
  const GradeSummary summary = grade(options);
  for (const Record& record : RunFolder(summary.run).read_records()) {
    Verdicts& of = found[record.submission.id];
    of.cases[record.test_case.id] = record.wall_s.value_or(0);
    of.words.try_emplace(record.outcome.verdict,
                         fmt::format("case {}: {}", record.test_case.id, record.outcome.message));
  }
  return summary.scores;
}

Policy VerifyJudging::policy() const {
  const Lab& lab = find_lab(lab_.name);
  return load_policy(policy_file(lab, std::nullopt), vocabulary_of(lab));
}

bool VerifyJudging::is_as_expected(const Expected& one, const Found& found) {
  const auto own = found.find(one.id);
  if (own == found.end()) return false;
  return own->second.words.contains(one.verdict) && (one.is_wrong() || own->second.words.size() == 1);
}

// On the emulator each is judged on what its verdict follows from: those that must fail on the small cases
// first, and on the others where they get through these. On a GPU, where cases are short and compilation is
// what takes long, all are judged at once.
VerifyJudging::Judged VerifyJudging::judge_all(const std::string& backend) const {
  Judged judged{backend, expected_verdicts(lab_), {}, {}};
  const std::vector<Expected>& all = judged.submissions;
  Found& found = judged.found;
  if (backend != "cuda") {
    judge_untimed(all, backend, found);
    return judged;
  }
  VerifyProgress::Step step(progress_, "every case with its speed, " + backend);
  judged.scores = judge(all, backend, with_clock({}), found, step);
  std::vector<Expected> again;
  std::copy_if(all.begin(), all.end(), std::back_inserter(again), [&](const Expected& one) {
    return one.verdict != Verdict::kAccepted && !is_as_expected(one, found);
  });
  if (!again.empty()) judge(again, backend, with_clock({}), found, step);
  return judged;
}

void VerifyJudging::judge_untimed(const std::vector<Expected>& all, const std::string& backend,
                                  Found& found) const {
  std::vector<Expected> failing, others;
  for (const Expected& one : all) (one.verdict == Verdict::kAccepted ? others : failing).push_back(one);
  if (const std::vector<std::string> cases = correctness_cases(); !failing.empty() && !cases.empty()) {
    VerifyProgress::Step step(progress_, "submissions that must fail, " + backend);
    judge(failing, backend, without_clock(cases), found, step);
  }
  for (const Expected& one : failing)
    if (!is_as_expected(one, found)) others.push_back(one);
  if (others.empty()) return;
  VerifyProgress::Step step(progress_, "every case, " + backend);
  judge(others, backend, without_clock({}), found, step);
}

// Of these cases; of all, where none is named. The policy's own baseline alone runs beside.
GradeOptions VerifyJudging::without_clock(const std::vector<std::string>& cases) const {
  GradeOptions options;
  options.cases = cases;
  options.measure_speed = false;
  if (const std::string baseline = policy().baseline; !baseline.empty()) options.baselines = {baseline};
  return options;
}

GradeOptions VerifyJudging::with_clock(const std::vector<std::string>& cases) const {
  GradeOptions options = without_clock(cases);
  options.measure_speed = true;
  options.speed_budget_s = 0;  // no more pairs than grading takes at least
  return options;
}

VerifyJudging::FalseAlarms VerifyJudging::find_false_alarms(const std::string& backend,
                                                            const SecondsOfCases& seconds_of_naive) const {
  const fs::path naive = project_root() / "reference" / lab_.name / "naive";
  FalseAlarms of{backend, 0, {}, {}};
  if (options_.honest_runs <= 0 || !fs::is_directory(naive) || correctness_cases().empty()) return of;
  GradeOptions options = without_clock(quick_cases(seconds_of_naive, of.slow_cases));
  VerifyProgress::Step step(progress_, "false alarms, " + backend);
  const int count = static_cast<int>(options.cases.size());
  // On the emulator as many at a time as there are cores, each with inputs of its own.
  const int at_once = backend == "cuda" ? 1 : std::clamp(usable_cores(), 1, kMostAtOnce);
  options.least_runs = (options_.honest_runs + count * at_once - 1) / (count * at_once);
  options.inputs_of_their_own = true;
  std::vector<Expected> copies;
  for (int i = 1; i <= at_once; ++i)
    copies.push_back({fmt::format("naive-{}", i), naive, Verdict::kAccepted});
  Found found;
  judge(copies, backend, options, found, step);
  of.runs = options.least_runs * count * at_once;
  for (const auto& [id, verdicts] : found)
    for (const auto& [verdict, words] : verdicts.words)
      if (verdict != Verdict::kAccepted) of.alarms.push_back(fmt::format("{}, {}", word_of(verdict), words));
  return of;
}

// Many runs are made of these; a case that takes long has had those of every submission. `slow`:
// the others.
std::vector<std::string> VerifyJudging::quick_cases(const SecondsOfCases& seconds_of_naive,
                                                    std::vector<std::string>& slow) const {
  constexpr double kQuickS = 5;
  std::vector<std::string> quick;
  for (const std::string& id : correctness_cases()) {
    const auto found = seconds_of_naive.find(id);
    (found != seconds_of_naive.end() && found->second > kQuickS ? slow : quick).push_back(id);
  }
  if (quick.empty()) quick.swap(slow);
  return quick;
}

}  // namespace warpgrade
