// `warpgrade test [LAB]`: the students' own run, on the backend at hand. The same compiler, sandbox, judge
// and checks as the official run, less its hidden seed. After a lab's first time limit its other cases are
// not run. With `--remote HOST` the course's desk judges it (grader/course/desk/README.md).
#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/readers_words.h"
#include "cli/student_lab_run.h"
#include "cli/student_remote.h"
#include "cli/student_report.h"
#include "course/batch/class_run.h"
#include "course/batch/grade_run.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/isolation.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using Runs = std::vector<std::shared_ptr<StudentLabRun>>;

struct Options {
  std::string lab;  // empty: all
  std::string case_pattern, backend = "auto";
  fs::path folder = project_root() / "student";
  std::string remote;              // a desk's host; empty: judged here
  std::optional<fs::path> policy;  // whose cases are run as well; none: each lab's
};

bool is_asked_for(const Case& spec, const Options& options, const std::string& backend) {
  if (spec.emulator_only && backend == "cuda") return false;
  if (options.case_pattern.empty()) return spec.set == "public";
  const char* pattern = options.case_pattern.c_str();
  return fnmatch(pattern, spec.id.c_str(), 0) == 0 || fnmatch(pattern, spec.dataset.c_str(), 0) == 0;
}

// The labs that have a folder and a case to run. Throws UsageError when there is none.
Runs find_runs(const Options& options, const std::string& backend) {
  bool has_folder = false;
  Runs runs;
  for (const Lab* lab : labs()) {
    const bool asked = options.lab.empty() || options.lab == lab->name();
    if (!asked || !fs::is_directory(options.folder / lab->name())) continue;
    has_folder = true;
    auto run = std::make_shared<StudentLabRun>(
        StudentRunOptions{options.backend, options.folder, options.policy}, lab->name());
    const Policy policy = load_policy(policy_file(*lab, options.policy), vocabulary_of(*lab));
    for (const Case& spec : all_cases(*lab, policy)) {
      if (is_asked_for(spec, options, backend)) run->add_case(spec.id);
    }
    if (!run->cases().empty()) runs.push_back(std::move(run));
  }
  if (!has_folder) {
    throw UsageError("{} has no folder {}; give --folder FOLDER, or take the stub from the hand-out",
                     options.folder.string(), options.lab.empty() ? "of a lab" : options.lab);
  }
  if (runs.empty()) {
    throw UsageError("no case '{}' in {}; `warpgrade labs {}` lists them", options.case_pattern,
                     options.lab.empty() ? "any lab" : "lab " + options.lab,
                     options.lab.empty() ? "LAB" : options.lab);
  }
  return runs;
}

// What a run's end is told by: the worst of all cases.
class RunEnd {
 public:
  explicit RunEnd(StudentReport& report) : report_(report) {}

  void add(const Outcome& outcome) {
    if (outcome.verdict == Verdict::kJudgeFault) {
      report_.note_trouble("no fault of your code: " +
                           (outcome.message.empty() ? "the judge failed" : outcome.message));
      raise(kExitJudgeFault);
    }
    if (is_mistake(outcome.verdict)) raise(kExitNotAccepted);
  }
  void add_trouble(const std::exception& error, int exit_code,
                   const std::string& whose = "no fault of your code: ") {
    report_.note_trouble(whose + error.what());
    raise(exit_code);
  }
  void add_interrupt() {
    report_.note_trouble("interrupted: the results above are valid, the other cases were not run");
    raise(kExitInterrupted);
  }
  int exit_code() const { return exit_code_; }

 private:
  // An interrupt stands above a fault of the machine, and that above a mistake in a submission.
  void raise(int exit_code) {
    const auto weight = [](int code) {
      const int by_weight[] = {kExitGraded, kExitNotAccepted, kExitUsage, kExitJudgeFault, kExitInterrupted};
      return std::find(std::begin(by_weight), std::end(by_weight), code) - std::begin(by_weight);
    };
    if (weight(exit_code) > weight(exit_code_)) exit_code_ = exit_code;
  }

  StudentReport& report_;
  int exit_code_ = kExitGraded;
};

void run_lab(const std::shared_ptr<StudentLabRun>& run, StudentReport& report, RunEnd& outcome) {
  try {
    report.start_lab(run);
    for (const std::string& id : run->cases()) {
      const auto start = std::chrono::steady_clock::now();
      const Record* record = run->wait_for(id);
      if (record == nullptr) break;  // the lab's end says why
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      report.show_case(*record, waited.count());
      outcome.add(record->outcome);
    }
  } catch (const Interrupted&) {
    outcome.add_interrupt();
  } catch (const UsageError& error) {
    outcome.add_trouble(error, kExitUsage);
  } catch (const std::exception& error) {
    outcome.add_trouble(error, kExitJudgeFault);
  }
  report.end_lab(*run);
}

int test_remotely(const Options& options) {
  if (options.lab.empty())
    throw UsageError("a desk judges one lab at a time: name it (make test LAB=spmm REMOTE=...)");
  const auto run = std::make_shared<RemoteLabRun>(
      RemoteRunOptions{options.remote, options.lab, options.case_pattern, options.folder / options.lab});
  StudentReport report(std::vector<std::shared_ptr<StudentRun>>{run});
  RunEnd outcome(report);
  try {
    report.start_lab(run);
    while (const auto judged = run->next()) {
      report.show_case(judged->record, judged->seconds, judged->speed);
      outcome.add(judged->record.outcome);
    }
  } catch (const Interrupted&) {
    outcome.add_interrupt();
  } catch (const UsageError& error) {
    outcome.add_trouble(error, kExitUsage, "");
  } catch (const std::exception& error) {
    outcome.add_trouble(error, kExitJudgeFault);
  }
  report.end_lab(*run);
  if (const std::string words = run->final_message(); !words.empty()) tell("{}\n", reader_words().of(words));
  tell("{}\n", reader_words().of(report.last_line()));
  return outcome.exit_code();
}

int test(const Options& options) {
  reader_words();  // a file of words that is not in order is told now, and not when all is judged
  if (!options.lab.empty()) find_lab(options.lab);
  if (options.policy && options.lab.empty())
    throw UsageError("--policy needs the name of its lab as well: `warpgrade test LAB --policy FILE`");
  if (!options.remote.empty()) return test_remotely(options);
  const std::string backend =
      choose_backend(options.backend).name;  // says what is wrong once, and not in each case
  const Runs runs = find_runs(options, backend);
  const SandboxMode mode = probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  if (const std::string line = isolation_of(mode).one_line(); !line.empty())
    say("{}\n", reader_words().of("note: " + line));
  // The first lab compiles when its turn comes, the others beside it.
  for (std::size_t i = 1; i < runs.size(); ++i) runs[i]->compile_ahead(options.backend);
  StudentReport report(std::vector<std::shared_ptr<StudentRun>>(runs.begin(), runs.end()));
  RunEnd outcome(report);
  for (const auto& run : runs) {
    run_lab(run, report, outcome);
    if (interrupted()) outcome.add_interrupt();
    if (outcome.exit_code() == kExitInterrupted) break;
  }
  tell("{}\n", reader_words().of(report.last_line()));
  return outcome.exit_code();
}

}  // namespace

void add_test_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("test", "a student's own run: every public case of a lab, or of all");
  command->add_option("lab", options->lab, "the lab; default: every lab that has a folder");
  command->add_option("--case", options->case_pattern,
                      "one case, a dataset's cases, or a pattern as 'synth-*'");
  command->add_option("--backend", options->backend, "auto, cuda or emulator")->capture_default_str();
  command->add_option("--policy", options->policy,
                      "a policy; its own public cases are run as well; default: the lab's policy");
  command->add_option("--folder", options->folder, "the folder that holds one folder for each lab")
      ->capture_default_str();
  command->add_option("--remote", options->remote,
                      "judge on the course's GPU: the desk's host, or account@host:port");
  command->callback([options, &code] { code = test(*options); });
}

}  // namespace warpgrade
