// `make test`: the students' own run as GoogleTest, one test a lab and public case, on the backend at hand.
// The same compiler, sandbox, judge and checks as the official run, less its hidden seed. An unwritten stub
// is a visible skip. After a lab's first time limit its other cases are not run.
//
//   warpgrade-student-test [--lab=L] [--case=GLOB] [--backend=B] [--folder=student] [gtest options]
#include <fmt/core.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "batch/grade_run.h"
#include "cli/failure_text.h"
#include "cli/student_lab_run.h"
#include "cli/student_report.h"
#include "sandbox/isolation.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string lab = "*", case_pattern = "*", backend = "auto";
  fs::path folder = project_root() / "student";
};

StudentReport* report = nullptr;  // while tests run

class CaseTest : public testing::Test {
 public:
  CaseTest(std::shared_ptr<StudentLabRun> run, std::string case_id)
      : run_(std::move(run)), case_id_(std::move(case_id)) {}

  void TestBody() override {
    try {
      const json* record = run_->wait_for(case_id_);
      if (record == nullptr) GTEST_SKIP() << "not run: stopped at the time limit of " << run_->stopped_at();
      judge(*record);
    } catch (const Interrupted&) {
      report->note_trouble("interrupted: what is shown above holds, the rest was not run");
      GTEST_SKIP() << "interrupted";
    } catch (const std::exception& error) {
      report->note_trouble(std::string("no fault of your code: ") + error.what());
      ADD_FAILURE_AT("the machine", -1) << error.what();
    }
  }

 private:
  // For GoogleTest's own reports (--gtest_output); people read what StudentReport prints.
  void judge(const json& record) {
    const json& outcome = record.at("outcome");
    const std::string verdict = outcome.at("verdict");
    if (verdict == "accepted") return;
    if (verdict == "not_implemented" || verdict == "not_run")
      GTEST_SKIP() << outcome.value("message", verdict);
    if (verdict == "judge_fault")
      report->note_trouble("no fault of your code: " + outcome.value("message", "the judge failed"));
    ADD_FAILURE_AT(run_->folder().c_str(), -1) << failure_text(record, "make test LAB=" + run_->lab());
  }

  std::shared_ptr<StudentLabRun> run_;
  std::string case_id_;
};

// Null: no case of this lab fits the pattern.
std::shared_ptr<StudentLabRun> register_lab(const Options& options, const std::string& backend,
                                            const Lab& lab) {
  auto run = std::make_shared<StudentLabRun>(StudentRunOptions{options.backend, options.folder}, lab.name());
  for (const CaseSpec& spec : lab.cases()) {
    const bool named = options.case_pattern != "*";
    if (spec.emulator_only && backend == "cuda") continue;
    if (!named && spec.set != "public") continue;
    const bool fits = fnmatch(options.case_pattern.c_str(), spec.id.c_str(), 0) == 0 ||
                      fnmatch(options.case_pattern.c_str(), spec.dataset.c_str(), 0) == 0;
    if (fits) run->add_case(spec.id);
  }
  if (run->cases().empty()) return nullptr;
  for (const std::string& id : run->cases()) {
    testing::RegisterTest(lab.name().c_str(), test_name(id).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [run, id]() -> testing::Test* { return new CaseTest(run, id); });
  }
  return run;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      fmt::print(
          "warpgrade-student-test [--lab=L] [--case=GLOB] [--backend=auto|cuda|emulator] "
          "[--folder=student]\n");
      std::exit(0);  // GoogleTest has printed its own options
    }
    const auto take = [&](const std::string& name, auto& value) {
      if (!argument.starts_with(name + "=")) return false;
      const std::string text = argument.substr(name.size() + 1);
      if (!text.empty()) value = text;
      return true;
    };
    if (!take("--lab", options.lab) && !take("--case", options.case_pattern) &&
        !take("--backend", options.backend) && !take("--folder", options.folder)) {
      throw UsageError("no option {}; there is --lab= --case= --backend= --folder=, and GoogleTest's",
                       argument);
    }
  }
  return options;
}

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const bool all = options.lab == "*";
  if (!all) find_lab(options.lab);
  const std::string backend =
      choose_backend(options.backend).name;  // says what is wrong once, and not in each case
  bool has_folder = false;
  std::vector<std::shared_ptr<StudentLabRun>> runs;
  for (const Lab* lab : labs()) {
    if ((!all && options.lab != lab->name()) || !fs::is_directory(options.folder / lab->name())) continue;
    has_folder = true;
    if (auto run = register_lab(options, backend, *lab)) runs.push_back(std::move(run));
  }
  if (!has_folder) {
    throw UsageError("{} has no folder {}; give --folder=FOLDER, or take the stub from the hand-out",
                     options.folder.string(), all ? "of a lab" : options.lab);
  }
  if (runs.empty()) {
    throw UsageError("no case '{}' in {}; `build/bin/warpgrade labs {}` lists them", options.case_pattern,
                     all ? "any lab" : "lab " + options.lab, all ? "LAB" : options.lab);
  }
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  const SandboxMode mode = probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  if (const std::string line = isolation_of(mode).one_line(); !line.empty())
    fmt::print(stderr, "note: {}\n", line);
  // The first lab compiles when its turn comes, the others beside it.
  for (std::size_t i = 1; i < runs.size(); ++i) runs[i]->compile_ahead(options.backend);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  report = new StudentReport(runs);
  listeners.Append(report);
  const int failed = RUN_ALL_TESTS();
  for (const auto& run : runs) run->wait_for_end();
  fmt::print("{}\n", report->last_line());
  delete listeners.Release(report);
  return interrupted() ? kExitInterrupted : failed;
}

}  // namespace
}  // namespace warpgrade

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  warpgrade::install_interrupt_handler();
  try {
    return warpgrade::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
