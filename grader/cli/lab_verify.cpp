// `warpgrade labs verify NAME`: what must hold of a lab before a class sees it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/toolchain.h"
#include "batch/class_run.h"
#include "batch/grade_run.h"
#include "cli/lab_commands.h"
#include "declaration/contract.h"
#include "judge/verdict.h"
#include "labs/declared/declared_judge.h"
#include "labs/declared/mutations.h"
#include "record/run_folder.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

using declaration::LabDeclaration;
using nlohmann::json;

constexpr std::size_t kMostToldEach = 5;

fs::path graph_file(const std::string& graph) {
  const fs::path cache = cache_directory() / "datasets";
  const auto catalog = datasets::Catalog::load(project_root() / "datasets/catalog.yaml");
  if (catalog.contains(graph)) return catalog.ensure(graph, cache);
  if (fs::path imported = imported_dataset(graph, cache); !imported.empty()) return imported;
  throw UsageError("no dataset {} here: `warpgrade data list` names them", graph);
}

class Verification {
 public:
  Verification(const VerifyOptions& options, LabDeclaration lab)
      : options_(options), lab_(std::move(lab)), reference_(project_root() / "reference" / lab_.name) {}

  int run() {
    check_pages();
    if (check_checks()) {  // else nothing can be judged
      check_second_truth();
      for (const std::string& backend : backends()) {
        judge_all(backend);
        check_false_alarms(backend);
      }
    }
    if (failed_ == 0)
      fmt::print("{}: ready for a class\n", lab_.name);
    else
      fmt::print("{}: {} of the checks above did not hold\n", lab_.name, failed_);
    return failed_ == 0 ? kExitGraded : 3;
  }

 private:
  void tell(bool holds, const std::string& what, const std::vector<std::string>& because = {}) {
    fmt::print("{}  {}\n", holds ? "ok  " : "FAIL", what);
    for (std::size_t i = 0; i < std::min(because.size(), kMostToldEach); ++i)
      fmt::print("        {}\n", because[i]);
    if (because.size() > kMostToldEach) fmt::print("        and {} more\n", because.size() - kMostToldEach);
    std::fflush(stdout);
    if (!holds) ++failed_;
  }
  static void skip(const std::string& what) { fmt::print("--    {}\n", what); }

  std::vector<std::string> backends() const {
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
    tell(because.empty(), "the page that students get has today's table of cases", because);
  }

  SandboxMode sandbox() const {
    return probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  }
  std::uint64_t seed() const { return std::stoull(sha256(lab_.name).substr(0, 15), nullptr, 16); }

  // False: the oracle fails.
  bool check_checks() {
    declared::OracleProcess oracle(declared::oracle_spec(lab_, lab_.truth, sandbox(), 1));
    declared::MutationReport report;
    try {
      report = declared::try_mutations(lab_, graph_file, oracle, seed(), 1);
    } catch (const JudgeFault& fault) {
      tell(false, "the oracle answers every case", {fault.what()});
      return false;
    }
    tell(true, fmt::format("the oracle answers {} cases", report.cases));
    tell(report.refused.empty(), "the check accepts the oracle's own output", report.refused);
    for (const declared::Mutation& mutation : report.mutations) {
      if (mutation.tried == 0)
        skip(mutation.name + ": changes nothing here");
      else
        tell(mutation.missed.empty(),
             fmt::format("the check finds {} ({} times)", mutation.name, mutation.tried), mutation.missed);
    }
    return true;
  }

  void check_second_truth() {
    if (lab_.second_truth.empty()) return skip("a second oracle (second_truth): there is none");
    declared::OracleProcess oracle(declared::oracle_spec(lab_, lab_.truth, sandbox(), 1));
    declared::OracleProcess second(declared::oracle_spec(lab_, lab_.second_truth, sandbox(), 1));
    const auto found = declared::disagreements(lab_, graph_file, oracle, second, seed(), 1);
    tell(found.empty(), fmt::format("{} agrees with {}", lab_.second_truth, lab_.truth), found);
  }

  // ---- submissions ----

  // A class of the staff's own: each folder with what must come of it.
  std::map<std::string, std::string> lay_out(const fs::path& folder) const {
    std::map<std::string, std::string> expected;
    const auto add = [&](const std::string& id, const fs::path& from, const std::string& verdict) {
      fs::copy(from, folder / id, fs::copy_options::recursive);
      expected[id] = verdict;
    };
    make_directories(folder);
    add("stub", project_root() / "student" / lab_.name, verdicts::kNotImplemented);
    for (const char* solution : {"naive", "optimized"})
      if (fs::is_directory(reference_ / solution)) add(solution, reference_ / solution, verdicts::kAccepted);
    for (const fs::path& step : folders_in(reference_ / "steps"))
      add("step-" + step.filename().string(), step, verdicts::kAccepted);
    for (const fs::path& wrong : folders_in(reference_ / "wrong")) {
      const std::string name = wrong.filename().string();
      std::string verdict = verdicts::kWrongAnswer;
      for (const char* other : {verdicts::kRuntimeError, verdicts::kTimeLimit, verdicts::kMemoryLimit,
                                verdicts::kCompileError, verdicts::kCheating, verdicts::kTimingRejected})
        if (name.starts_with(other)) verdict = other;
      add("wrong-" + name, wrong, verdict);
    }
    return expected;
  }

  static std::vector<fs::path> folders_in(const fs::path& folder) {
    std::vector<fs::path> found;
    if (!fs::is_directory(folder)) return found;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory()) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  GradeOptions grading(const fs::path& submissions, const fs::path& run, const std::string& backend) const {
    GradeOptions options;
    options.lab = lab_.name;
    options.submissions = submissions;
    options.run = run;
    options.backend = backend;
    options.allow_unsandboxed = options_.allow_unsandboxed;
    options.quiet = true;
    return options;
  }

  // Verdicts by submission; the first words of each kind.
  struct Verdicts {
    std::map<std::string, std::string> words;
    int cases = 0;
  };
  static std::map<std::string, Verdicts> verdicts_of(const fs::path& run) {
    std::map<std::string, Verdicts> found;
    for (const json& record : RunFolder(run).read_records()) {
      Verdicts& of = found[record.at("submission").at("id")];
      ++of.cases;
      const json& outcome = record.at("outcome");
      of.words.try_emplace(outcome.at("verdict"),
                           fmt::format("case {}: {}", record.at("case").at("id").get<std::string>(),
                                       outcome.value("message", "")));
    }
    return found;
  }

  void judge_all(const std::string& backend) {
    const TemporaryDirectory scratch("warpgrade-verify");
    const auto expected = lay_out(scratch.path() / "class");
    GradeOptions options = grading(scratch.path() / "class", scratch.path() / "run", backend);
    const GradeSummary summary = grade(options);
    const auto found = verdicts_of(summary.run);
    for (const auto& [id, verdict] : expected) {
      const auto own = found.find(id);
      if (own == found.end()) {
        tell(false, fmt::format("{} on the {}: {}", id, backend, verdict), {"it was not judged"});
        continue;
      }
      const bool only = verdict == verdicts::kAccepted || verdict == verdicts::kNotImplemented;
      const bool holds = own->second.words.contains(verdict) && (!only || own->second.words.size() == 1);
      std::vector<std::string> because;
      for (const auto& [other, words] : own->second.words)
        if (!holds) because.push_back(other + ", " + words);
      tell(holds, fmt::format("{} on the {}: {} ({} cases)", id, backend, verdict, own->second.cases),
           because);
    }
    check_thresholds(backend, summary.scores);
  }

  // Where speed was measured: the best solution reaches the thresholds, naive does not reach them all.
  void check_thresholds(const std::string& backend, const json& scores) {
    if (backend != "cuda") return skip("thresholds: speed is measured on a GPU alone");
    const std::string best = fs::is_directory(reference_ / "optimized") ? "optimized" : "naive";
    for (const json& submission : scores.at("submissions")) {
      const std::string id = submission.at("id");
      const int of = submission.value("threshold_cases", 0), over = submission.value("over_threshold", 0);
      if (of == 0) continue;
      const std::string told = fmt::format("{} reaches {} of {} thresholds", id, over, of);
      if (id == best && best != "naive") tell(over == of, told);
      if (id == "naive") tell(over < of, told + ", and must not reach all");
    }
  }

  void check_false_alarms(const std::string& backend) {
    if (options_.honest_runs <= 0 || !fs::is_directory(reference_ / "naive")) return;
    std::vector<std::string> cases;
    for (const auto& c : lab_.cases)
      if (c.kind == "correctness") cases.push_back(c.id);
    if (cases.empty()) return skip("false alarms: there is no correctness case");
    const TemporaryDirectory scratch("warpgrade-verify");
    make_directories(scratch.path() / "class");
    fs::copy(reference_ / "naive", scratch.path() / "class/naive", fs::copy_options::recursive);
    GradeOptions options = grading(scratch.path() / "class", scratch.path() / "run", backend);
    options.cases = cases;
    const int count = static_cast<int>(cases.size());
    options.least_runs = (options_.honest_runs + count - 1) / count;
    const GradeSummary summary = grade(options);
    std::vector<std::string> alarms;
    for (const auto& [id, verdicts] : verdicts_of(summary.run))
      for (const auto& [verdict, words] : verdicts.words)
        if (verdict != verdicts::kAccepted) alarms.push_back(verdict + ", " + words);
    tell(alarms.empty(),
         fmt::format("no false alarm in {} runs of naive on the {}", options.least_runs * count, backend),
         alarms);
  }

  const VerifyOptions& options_;
  LabDeclaration lab_;
  fs::path reference_;
  int failed_ = 0;
};

}  // namespace

int verify_lab(const VerifyOptions& options) {
  find_lab(options.lab);
  auto lab = declaration::find_declaration(options.lab);
  if (!lab)
    throw UsageError("lab {} is written in C++ (grader/labs/{}), and has tests of its own", options.lab,
                     options.lab);
  return Verification(options, std::move(*lab)).run();
}

}  // namespace warpgrade
