// `warpgrade labs verify NAME`: what must hold of a lab before a class sees it.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <future>
#include <map>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/toolchain.h"
#include "cli/expected_verdicts.h"
#include "cli/harmless_mutants.h"
#include "cli/lab_commands.h"
#include "cli/mutant_trials.h"
#include "cli/verify_judging.h"
#include "cli/verify_power.h"
#include "cli/verify_progress.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "course/record/run_folder.h"
#include "judge/declaration/contract.h"
#include "judge/labs/declared/changed_outputs.h"
#include "judge/labs/declared/oracle_keeper.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/usable_cores.h"
#include "record/outcome.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

using declaration::LabDeclaration;
using nlohmann::json;

constexpr std::size_t kMostListedEach = 5;
// The sample of mutants: as much work on each machine.
constexpr double kMutantsCoreSeconds = 60;
// From so many on, what does not need each other is done at the same time.
constexpr int kManyCores = 12;

fs::path graph_file(const std::string& graph) {
  const fs::path cache = cache_directory() / "datasets";
  const auto catalog = datasets::Catalog::load(project_root() / "datasets/catalog.yaml");
  if (catalog.contains(graph)) return catalog.ensure(graph, cache);
  if (fs::path imported = imported_dataset(graph, cache); !imported.empty()) return imported;
  throw UsageError("this machine has no dataset {}: `warpgrade data list` names those of the catalogue",
                   graph);
}

class LabVerification {
 public:
  LabVerification(const VerifyOptions& options, LabDeclaration lab)
      : options_(options),
        lab_(std::move(lab)),
        reference_(project_root() / "reference" / lab_.name),
        judging_(options_, lab_, progress_) {}

  int run() {
    survivors_ = read_survivors(lab_.name);  // a mistake in it is told before minutes have gone
    check_pages();
    const std::vector<std::string> all_backends = backends();
    // A GPU's judge asks the oracle first, and compiles meanwhile: it can begin at once where there are cores.
    const bool is_gpu_alone = all_backends == std::vector<std::string>{"cuda"} && threads() >= kManyCores;
    std::vector<std::future<void>> compiled;
    for (const std::string& backend : all_backends)
      if (!is_gpu_alone) compiled.push_back(judging_.compile_ahead(backend));
    std::vector<std::future<VerifyJudging::Judged>> judged;
    for (const std::string& backend : all_backends)
      judged.push_back(beside([this, backend] { return judging_.judge_all(backend); }, is_gpu_alone));
    // Both want the GPU alone: these are through before the others' answers are there.
    std::future<VerifyJudging::FalseAlarms> alarms =
        beside([this] { return judging_.find_false_alarms("cuda", {}); }, is_gpu_alone);
    std::future<CheckPowerFound> power = behind([this] { return look_at_check_power(); });
    std::future<Because> second = behind([this] { return compare_with_second_truth(); });
    std::future<Because> magnitudes = behind([this] { return compare_magnitudes(); });
    if (check_checks()) {  // else nothing can be judged
      report_second_truth(second.get());
      check_device_truth();
      report_magnitudes(magnitudes.get());
      report_power(power.get());
      wait_for(compiled);
      std::future<std::vector<TriedMutants>> mutants = behind([this] { return try_mutants_of_solutions(); });
      for (std::size_t i = 0; i < all_backends.size(); ++i) {
        const VerifyJudging::Judged of = judged[i].get();
        report_judged(of);
        report_false_alarms(is_gpu_alone ? alarms.get()
                                         : judging_.find_false_alarms(of.backend, of.seconds_of_naive()));
      }
      report_mutants(mutants.get());
    }
    progress_.print(progress_.summary());
    if (failed_ == 0)
      progress_.print(fmt::format("{}: ready for a class", lab_.name));
    else
      progress_.print(fmt::format("{}: {} of the checks above did not hold", lab_.name, failed_));
    return failed_ == 0 ? kExitGraded : 3;
  }

 private:
  using Because = std::vector<std::string>;  // a line for each thing that does not hold

  void report_check(bool holds, const std::string& what, const Because& because = {}) {
    std::string text = fmt::format("{}  {}", holds ? "ok  " : "FAIL", what);
    for (std::size_t i = 0; i < std::min(because.size(), kMostListedEach); ++i)
      text += "\n        " + because[i];
    if (because.size() > kMostListedEach)
      text += fmt::format("\n        and {} more", because.size() - kMostListedEach);
    progress_.print(text);
    if (!holds) ++failed_;
  }
  // At once where there are cores for it, else when its answer is asked for: results are told in one order.
  template <typename Work>
  static std::future<std::invoke_result_t<Work>> beside(Work work, bool at_once = threads() >= kManyCores) {
    return std::async(at_once ? std::launch::async : std::launch::deferred, std::move(work));
  }
  // What judging need not wait for leaves it the cores. A thread's priority is its programs', too.
  template <typename Work>
  static std::future<std::invoke_result_t<Work>> behind(Work work) {
    constexpr int kNice = 10;
    const bool at_once = threads() >= kManyCores;
    return beside([work = std::move(work), at_once] {
      if (at_once) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
      return work();
    });
  }
  void skip(const std::string& what) { progress_.print("--    " + what); }

  std::vector<std::string> backends() {
    if (options_.backend != "auto") return {choose_backend(options_.backend).name};
    std::vector<std::string> both{"emulator"};
    if (choose_backend("auto").name == "cuda")
      both.push_back("cuda");
    else
      skip("on a GPU: there is none here");
    return both;
  }

  void check_pages() {
    const fs::path page = project_root() / "student" / lab_.name / "README.md";
    std::vector<std::string> because;
    if (!fs::exists(page) || declaration::with_case_table(read_text(page), lab_) != read_text(page))
      because.push_back(fmt::format("make it anew: warpgrade labs pages {}", lab_.name));
    report_check(because.empty(), "the page that students get has today's table of cases", because);
  }

  SandboxMode sandbox() const {
    return probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  }
  static int threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }
  static declared::CaseProgress case_progress(VerifyProgress::Step& step) {
    return [&step](int number, int of, const std::string& id) {
      step.say(fmt::format("case {} of {}, {}", number, of, id), double(number - 1) / of);
    };
  }
  std::uint64_t seed() const { return std::stoull(sha256(lab_.name).substr(0, 15), nullptr, 16); }

  // False: the oracle fails.
  bool check_checks() {
    VerifyProgress::Step step(progress_, "oracle and check");
    declared::OracleProcess oracle(declared::oracle_spec(lab_, lab_.truth, sandbox(), threads()));
    declared::ChangeReport report;
    try {
      report =
          declared::try_changed_outputs(lab_, graph_file, oracle, seed(), threads(), case_progress(step));
    } catch (const JudgeFault& fault) {
      report_check(false, "the oracle answers every case", {fault.what()});
      return false;
    }
    report_check(true, fmt::format("the oracle answers {} cases", report.cases));
    report_check(report.refused.empty(), "the check accepts the oracle's own output", report.refused);
    for (const declared::OutputChange& change : report.changes) {
      if (change.tried == 0)
        skip(change.name + ": changes nothing here");
      else
        report_check(change.missed.empty(),
                     fmt::format("the check finds {} ({} times)", change.name, change.tried), change.missed);
    }
    return true;
  }

  Because compare_with_second_truth() {
    if (lab_.second_truth.empty()) return {};
    VerifyProgress::Step step(progress_, "second oracle");
    declared::OracleProcess oracle(declared::oracle_spec(lab_, lab_.truth, sandbox(), threads()));
    declared::OracleProcess second(declared::oracle_spec(lab_, lab_.second_truth, sandbox(), threads()));
    return declared::disagreements(lab_, graph_file, oracle, second, seed(), threads(), case_progress(step));
  }

  void report_second_truth(const Because& found) {
    if (lab_.second_truth.empty()) return skip("a second oracle (second_truth): there is none");
    report_check(found.empty(), fmt::format("{} agrees with {}", lab_.second_truth, lab_.truth), found);
  }

  // That it is right is a verdict as the others are.
  void check_device_truth() {
    if (lab_.device_truth.empty()) return;
    const fs::path program = reference_ / lab_.device_truth / (lab_.name + ".cu");
    std::vector<std::string> because;
    if (!fs::exists(program)) because.push_back(fmt::format("{} is not there", program.string()));
    report_check(because.empty(), "device_truth has its program", because);
  }

  bool has_magnitudes() const {
    return std::any_of(lab_.checks.begin(), lab_.checks.end(),
                       [](const auto& check) { return check.second.magnitude_of_absolutes; });
  }

  Because compare_magnitudes() {
    if (!has_magnitudes()) return {};
    VerifyProgress::Step step(progress_, "magnitudes");
    declared::OracleProcess oracle(declared::oracle_spec(lab_, lab_.truth, sandbox(), threads()));
    return declared::other_magnitudes(lab_, graph_file, oracle, seed(), threads(), case_progress(step));
  }

  void report_magnitudes(const Because& found) {
    if (has_magnitudes())
      report_check(found.empty(), "magnitudes are the outputs for inputs without signs", found);
  }

  CheckPowerFound look_at_check_power() {
    VerifyProgress::Step step(progress_, "what the check sees");
    return look_at_power(lab_, {graph_file, sandbox(), seed(), threads()}, step);
  }

  void report_power(const CheckPowerFound& found) {
    for (const std::string& note : found.notes) skip(note);
    if (found.words.empty()) return skip("what the check sees: there is no speed case");
    report_check(found.weak.empty(), found.words, found.weak);
  }

  // ---- submissions ----

  void wait_for(std::vector<std::future<void>>& compiled) {
    if (compiled.empty()) return;
    const VerifyProgress::Step step(progress_, "compiling");
    for (std::future<void>& one : compiled) one.get();
  }

  void report_judged(const VerifyJudging::Judged& judged) {
    print_verdicts(judged.submissions, judged.found, judged.backend);
    if (judged.backend != "cuda") return skip("thresholds: speed is measured on a GPU alone");
    check_thresholds_of_optimized(judged.scores);
    check_thresholds_of_naive(judged.scores);
  }

  void print_verdicts(const std::vector<Expected>& all, const VerifyJudging::Found& found,
                      const std::string& backend) {
    for (const Expected& one : all) {
      const auto own = found.find(one.id);
      if (own == found.end()) {
        report_check(false, fmt::format("{} on the {}: {}", one.id, backend, word_of(one.verdict)),
                     {"it was not judged"});
        continue;
      }
      const bool holds = VerifyJudging::is_as_expected(one, found);
      std::vector<std::string> because;
      for (const auto& [other, words] : own->second.words)
        if (!holds) because.push_back(fmt::format("{}, {}", word_of(other), words));
      report_check(holds,
                   fmt::format("{} on the {}: {} ({} cases)", one.id, backend, word_of(one.verdict),
                               own->second.cases.size()),
                   because);
    }
  }

  // Thresholds that the submission reaches, of how many it was measured against.
  struct Reached {
    int over = 0, of = 0;
    std::vector<std::string> missed;  // a line a case: its speed-up, the interval, the threshold
  };
  static Reached reached(const json& scores, const std::string& id) {
    if (scores.is_null()) return {};
    for (const json& submission : scores.at("submissions"))
      if (submission.at("id") == id)
        return {submission.value("over_threshold", 0), submission.value("threshold_cases", 0),
                missed_thresholds(submission)};
    return {};
  }
  static std::vector<std::string> missed_thresholds(const json& submission) {
    std::vector<std::string> missed;
    for (const json& one : submission.value("cases", json::array())) {
      if (one.value("threshold_status", "") != "fail") continue;
      const json& ratio = one.at("ratio");
      missed.push_back(fmt::format("{}: {:.2f} times as fast as {} ({:.2f} to {:.2f}), the threshold is {}",
                                   one.value("id", ""), ratio.value("median", 0.0), one.value("baseline", ""),
                                   ratio.value("low", 0.0), ratio.value("high", 0.0),
                                   one.value("threshold", 0.0)));
    }
    return missed;
  }

  void check_thresholds_of_optimized(const json& scores) {
    if (const Reached optimized = reached(scores, "optimized"); optimized.of > 0)
      report_check(optimized.over == optimized.of,
                   fmt::format("optimized reaches {} of {} thresholds", optimized.over, optimized.of),
                   optimized.missed);
  }

  void check_thresholds_of_naive(const json& scores) {
    const Reached naive = reached(scores, "naive");
    if (naive.of == 0) return;
    report_check(naive.over < naive.of,
                 fmt::format("naive reaches {} of {} thresholds, and must miss one", naive.over, naive.of));
  }

  void report_false_alarms(const VerifyJudging::FalseAlarms& of) {
    if (judging_.correctness_cases().empty()) return skip("false alarms: there is no correctness case");
    if (of.runs == 0) return;
    report_check(of.alarms.empty(),
                 fmt::format("no false alarm in {} runs of naive on the {}{}", of.runs, of.backend,
                             of.slow_cases.empty() ? ""
                                                   : fmt::format("; no more of {}, which takes long",
                                                                 fmt::join(of.slow_cases, ", "))),
                 of.alarms);
  }

  struct TriedMutants {
    std::string solution;
    MutantSample sample;
  };

  // A sample: those that change nothing are known where the author has written them down. Some cores are left to
  // what is timed meanwhile.
  std::vector<TriedMutants> try_mutants_of_solutions() {
    std::vector<TriedMutants> tried;
    if (!fs::exists(survivors_file(lab_.name))) return tried;
    const int left = threads() >= kManyCores ? threads() / 4 : 0;
    const int workers = std::clamp(usable_cores() - left, 1, usable_cores());
    const double limit_s = std::max(6.0, kMutantsCoreSeconds / workers);
    for (const std::string& solution : survivors_.solutions) {
      MutantsOptions options;
      options.lab = lab_.name;
      options.solution = solution;
      options.seed = seed();
      options.shapes = 40;
      options.trust_reasons = true;
      options.workers = workers;
      options.limit_s = limit_s / static_cast<double>(survivors_.solutions.size());
      options.allow_unsandboxed = options_.allow_unsandboxed;
      tried.push_back({solution, sample_mutants(options, survivors_.harmless, progress_)});
    }
    return tried;
  }

  void report_mutants(const std::vector<TriedMutants>& tried) {
    if (!fs::exists(survivors_file(lab_.name)))
      return skip(
          fmt::format("mutants: there is no survivors.yaml; `warpgrade labs mutants {}` tells what the cases "
                      "do not see",
                      lab_.name));
    for (const auto& [solution, sample] : tried)
      report_check(sample.survivors.empty(),
                   fmt::format("no mutant of {} survives without a reason; {}",
                               solution.empty() ? "the solutions" : solution, sample.score),
                   sample.survivors);
    const std::vector<std::string>& solutions = survivors_.solutions;
    if (solutions.empty())
      return skip("mutants: survivors.yaml has reasons of a sample alone, so none is tried here");
    if (solutions != std::vector<std::string>{""})
      skip(fmt::format("mutants of other solutions than {}: survivors.yaml has no reasons for them yet",
                       fmt::join(solutions, ", ")));
  }

  const VerifyOptions& options_;
  LabDeclaration lab_;
  fs::path reference_;
  Survivors survivors_;
  VerifyProgress progress_;
  VerifyJudging judging_;
  int failed_ = 0;
};

}  // namespace

int verify_lab(const VerifyOptions& options) {
  find_lab(options.lab);
  auto lab = declaration::find_declaration(options.lab);
  if (!lab)
    throw UsageError("lab {} is written in C++ (grader/judge/labs/{}), and has tests of its own", options.lab,
                     options.lab);
  return LabVerification(options, std::move(*lab)).run();
}

}  // namespace warpgrade
