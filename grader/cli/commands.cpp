#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "cli/failure_text.h"
#include "cli/tables.h"
#include "score/calibrate.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The policy that a run was made with.
Policy policy_of(const json& run) {
  return parse_policy(run.at("policy"), "the run's policy", dataset_names(find_lab(run.at("lab"))));
}

// A path as a shell takes it.
std::string shell_word(const fs::path& path) {
  std::string word = path.string();
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/._-+@:%,=", c) != nullptr;
  });
  if (plain && !word.empty()) return word;
  for (size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
  return "'" + word + "'";
}

// What judges one case of a check again.
std::string repeat_command(const CheckOptions& options, const std::string& case_id) {
  std::string command = fmt::format("warpgrade check {} --lab {} --cases {}", shell_word(options.submission),
                                    options.grade.lab, case_id);
  if (options.grade.input) command += " --input " + shell_word(*options.grade.input);
  return command;
}

}  // namespace

fs::path default_run_folder(const std::string& lab) {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return fs::path("runs") / fmt::format("{}-{}", text, lab);
}

int list_labs(const std::optional<std::string>& name) {
  if (!name) {
    for (const Lab* lab : labs()) {
      fmt::print("{:<10} {} ({} cases)\n", lab->name(), lab->summary(), lab->cases().size());
    }
    return kExitGraded;
  }
  std::vector<std::vector<std::string>> rows{{"case", "kind", "set", "what it is for"}};
  for (const CaseSpec& spec : find_lab(*name).cases())
    rows.push_back({spec.id, spec.kind, spec.set, spec.why});
  fmt::print("{}", format_table(rows));
  return kExitGraded;
}

int list_baselines() {
  std::set<std::string> folders;
  for (const Lab* lab : labs()) {
    for (const Baseline& baseline : lab->baselines()) folders.insert(baseline.folder.string());
  }
  for (const std::string& folder : folders) fmt::print("{}\n", folder);
  return kExitGraded;
}

int check(CheckOptions options) {
  const TemporaryDirectory scratch("warpgrade-check");
  GradeOptions& grade_options = options.grade;
  grade_options.submissions = options.submission;
  grade_options.run = scratch.path() / "run";
  grade_options.quiet = !options.verbose;
  grade_options.measure_speed = false;
  if (grade_options.cases.empty() && !grade_options.input) grade_options.cases = {"public"};
  const GradeSummary summary = grade(grade_options);
  const RunFolder folder(summary.run);
  int accepted = 0, total = 0;
  for (const json& record : folder.read_records()) {
    ++total;
    if (record.at("outcome").at("verdict") == "accepted") {
      ++accepted;
      fmt::print("ok {}\n", record.at("case").at("id").get<std::string>());
    } else {
      fmt::print("{}", failure_text(record, repeat_command(options, record.at("case").at("id"))));
    }
  }
  fmt::print("{} of {} cases accepted on the {}\n", accepted, total,
             folder.read_run().at("backend") == "cuda" ? "GPU" : "emulator");
  if (summary.faults > 0) return kExitJudgeFault;
  return accepted == total ? kExitGraded : kExitNotAccepted;
}

std::vector<fs::path> reference_solutions(const std::string& lab) {
  const fs::path room = project_root() / "reference" / lab;
  std::vector<fs::path> folders{room / "naive"};
  std::vector<fs::path> steps;
  if (fs::is_directory(room / "steps")) {
    for (const auto& entry : fs::directory_iterator(room / "steps")) {
      if (entry.is_directory()) steps.push_back(entry.path());
    }
  }
  std::sort(steps.begin(), steps.end());
  folders.insert(folders.end(), steps.begin(), steps.end());
  folders.push_back(room / "optimized");
  std::erase_if(folders, [](const fs::path& folder) { return !fs::is_directory(folder); });
  return folders;
}

int grade_class(GradeOptions options, bool with_references) {
  if (options.run.empty()) options.run = default_run_folder(options.lab);
  if (with_references) {
    for (const fs::path& folder : reference_solutions(options.lab)) options.references.push_back(folder);
  }
  const GradeSummary summary = grade(options);
  fmt::print("{}", class_table(summary.scores));
  fmt::print("\n{} cases judged, {} recorded before; records: {}\n", summary.recorded, summary.resumed,
             (summary.run / "records.jsonl").string());
  if (summary.faults > 0) {
    fmt::print("{} cases met a fault of the judge; run the same command again to redo them\n",
               summary.faults);
    return kExitJudgeFault;
  }
  return kExitGraded;
}

int bench(GradeOptions options) {
  if (options.run.empty()) options.run = default_run_folder(options.lab + "-bench");
  options.references = reference_solutions(options.lab);
  // Without a GPU there is nothing to time: the quick cases show that everything runs.
  if (options.cases.empty() && choose_backend(options.backend).name == "emulator") options.cases = {"public"};
  const GradeSummary summary = grade(options);
  const json run = RunFolder(summary.run).read_run();
  if (run.at("backend") != "cuda") {
    fmt::print(
        "{}\nspeed was not measured: the emulator counts instructions, not time. On a machine with an NVIDIA "
        "GPU "
        "this prints speed-ups against thresholds.\n",
        class_table(summary.scores));
  } else {
    fmt::print("speed-up over {} [95 % interval], threshold met or not:\n\n{}", policy_of(run).baseline,
               speed_table(summary.scores));
  }
  fmt::print("\nrecords: {}\n", (summary.run / "records.jsonl").string());
  return summary.faults > 0 ? kExitJudgeFault : kExitGraded;
}

int score_again(const fs::path& run, const std::optional<fs::path>& policy) {
  const RunFolder folder(run);
  folder.collect();
  fmt::print("{}", class_table(score_run(folder, policy)));
  return kExitGraded;
}

int calibrate(const fs::path& run, const std::optional<std::string>& baseline, double share) {
  const RunFolder folder(run);
  const json description = folder.read_run();
  const std::string chosen = baseline ? *baseline : policy_of(description).baseline;
  fmt::print("{}", propose_thresholds(description, folder.read_records(), chosen, share));
  return kExitGraded;
}

int render(const std::string& module, const fs::path& run) {
  const fs::path python = project_root() / ".venv/bin/python";
  ProcessOptions options;
  options.command = {fs::exists(python) ? python.string() : "python3", "-m", module, run.string()};
  options.environment = {{"PYTHONPATH", (project_root() / "reports").string()}};
  const ProcessResult result = run_process(options);
  fmt::print("{}", result.standard_output);
  fmt::print(stderr, "{}", result.standard_error);
  return result.ok() ? kExitGraded : result.exit_code == kExitUsage ? kExitUsage : kExitJudgeFault;
}

int report(const fs::path& run) {
  const RunFolder folder(run);
  folder.read_run();
  folder.collect();
  score_run(folder, std::nullopt);
  return render("warpgrade_reports", run);
}

}  // namespace warpgrade
