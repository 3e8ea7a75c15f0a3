// `make test`: the students' own run as GoogleTest, one test a lab and public case, on the backend at hand.
// The same compiler, sandbox, judge and checks as the official run, less its hidden seed. An unwritten stub
// is a visible skip.
//
//   warpgrade-student-test [--lab=L] [--case=GLOB] [--backend=B] [--folder=student] [gtest options]
#include <fmt/core.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "batch/grade_run.h"
#include "cli/failure_text.h"
#include "sandbox/isolation.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string lab = "*", case_pattern = "*", backend = "auto";
  fs::path folder = project_root() / "student";
};

// All chosen cases of a lab are judged in one run, when its first test asks; the tests then read their
// records.
class LabRun {
 public:
  LabRun(const Options& options, std::string lab, std::vector<std::string> cases)
      : options_(options), lab_(std::move(lab)), cases_(std::move(cases)) {}

  const json& record(const std::string& case_id) {
    if (records_.empty()) judge();
    return records_.at(case_id);
  }

  // What is worth mending in accepted cases; empty when no case was asked for.
  std::string findings() const {
    std::vector<json> records;
    for (const auto& [id, record] : records_) records.push_back(record);
    return findings_text(records);
  }

  // What does not compile fails every case with the same words: they are said once.
  std::string explain(const json& record) {
    if (record.at("outcome").at("verdict") == "compile_error" && std::exchange(compile_error_told_, true))
      return "compile_error, as above";
    return failure_text(
        record, fmt::format("make test LAB={} CASE={}", lab_, record.at("case").at("id").get<std::string>()));
  }

 private:
  void judge() {
    const TemporaryDirectory scratch("warpgrade-test");
    GradeOptions grade_options;
    grade_options.lab = lab_;
    grade_options.submissions = options_.folder / lab_;
    grade_options.run = scratch.path() / "run";
    grade_options.backend = options_.backend;
    grade_options.cases = cases_;
    grade_options.allow_unsandboxed = true;  // your own code, on your own machine
    grade_options.measure_speed = false;
    grade_options.quiet = true;
    const GradeSummary summary = grade(grade_options);
    for (json& record : RunFolder(summary.run).read_records()) {
      const std::string id = record.at("case").at("id");
      records_[id] = std::move(record);
    }
  }

  const Options& options_;
  std::string lab_;
  std::vector<std::string> cases_;
  std::map<std::string, json> records_;
  bool compile_error_told_ = false;
};

class CaseTest : public testing::Test {
 public:
  CaseTest(std::shared_ptr<LabRun> run, std::string case_id)
      : run_(std::move(run)), case_id_(std::move(case_id)) {}

  void TestBody() override {
    const json& record = run_->record(case_id_);
    const json& outcome = record.at("outcome");
    if (outcome.at("verdict") == "not_implemented")
      GTEST_SKIP() << outcome.value("message", "not written yet");
    if (outcome.at("verdict") == "not_run") GTEST_SKIP() << outcome.value("message", "not judged");
    if (outcome.at("verdict") != "accepted") ADD_FAILURE() << run_->explain(record);
  }

 private:
  std::shared_ptr<LabRun> run_;
  std::string case_id_;
};

// "tiny-hub-k32" as a name that GoogleTest allows.
std::string test_name(const std::string& case_id) {
  std::string name = case_id;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

// Null: no case of this lab fits the pattern.
std::shared_ptr<const LabRun> register_lab(const Options& options, const Lab& lab) {
  std::vector<std::string> chosen;
  for (const CaseSpec& spec : lab.cases()) {
    const bool named = options.case_pattern != "*";
    if (!named && spec.set != "public") continue;
    const bool fits = fnmatch(options.case_pattern.c_str(), spec.id.c_str(), 0) == 0 ||
                      fnmatch(options.case_pattern.c_str(), spec.dataset.c_str(), 0) == 0;
    if (fits) chosen.push_back(spec.id);
  }
  if (chosen.empty()) return nullptr;
  const auto run = std::make_shared<LabRun>(options, lab.name(), chosen);
  for (const std::string& id : chosen) {
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
  choose_backend(options.backend);  // says what is wrong once, and not in each case
  bool has_folder = false;
  std::vector<std::shared_ptr<const LabRun>> runs;
  for (const Lab* lab : labs()) {
    if ((!all && options.lab != lab->name()) || !fs::is_directory(options.folder / lab->name())) continue;
    has_folder = true;
    if (auto run = register_lab(options, *lab)) runs.push_back(std::move(run));
  }
  if (!has_folder) {
    throw UsageError("{} has no folder {}; give --folder=FOLDER, or take the stub from the hand-out",
                     options.folder.string(), all ? "of a lab" : options.lab);
  }
  if (runs.empty()) {
    throw UsageError("no case '{}' in {}; `build/bin/warpgrade labs {}` lists them", options.case_pattern,
                     all ? "any lab" : "lab " + options.lab, all ? "LAB" : options.lab);
  }
  const SandboxMode mode = probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  if (const std::string line = isolation_of(mode).one_line(); !line.empty())
    fmt::print(stderr, "note: {}\n", line);
  const int failed = RUN_ALL_TESTS();
  for (const auto& run : runs) fmt::print("{}", run->findings());
  return failed;
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
