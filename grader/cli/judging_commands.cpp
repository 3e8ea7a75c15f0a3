// `warpgrade check`, `grade` and `bench`: a submission, a class, the staff's solutions.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/tables.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/failure_text.h"
#include "cli/judging_options.h"
#include "course/score/score.h"
#include "record/verdict.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct CheckOptions {
  fs::path submission;
  GradeOptions grade;
  bool verbose = false;
};

// What judges one case of a check again.
std::string repeat_command(const CheckOptions& options, const std::string& case_id) {
  std::string command = fmt::format("{} check {} --lab {} --cases {}", own_command(),
                                    shell_word(options.submission), options.grade.lab, case_id);
  if (options.grade.input) command += " --input " + shell_word(*options.grade.input);
  return command;
}

// One submission, on the students' public cases, into a scratch run; prints every failure.
int check(CheckOptions options) {
  const TemporaryDirectory scratch("warpgrade-check");
  GradeOptions& grade_options = options.grade;
  grade_options.submissions = options.submission;
  grade_options.run = scratch.path() / "run";
  grade_options.quiet = !options.verbose;
  grade_options.measure_speed = false;
  grade_options.own_run = true;
  if (grade_options.cases.empty() && !grade_options.input) grade_options.cases = {"public"};
  const GradeSummary summary = grade(grade_options);
  const RunFolder folder(summary.run);
  const std::vector<Record> records = folder.read_records();
  const json run = folder.read_run();
  for (const json& submission : run.at("submissions"))
    for (const json& note : submission.value("notes", json::array()))
      tell("note: {}\n", note.get<std::string>());
  int accepted = 0, total = 0;
  std::set<std::string> reported;  // what concerns the program, not the case, is said once
  for (const Record& record : records) {
    ++total;
    const auto& [verdict, message, id] =
        std::tie(record.outcome.verdict, record.outcome.message, record.test_case.id);
    if (verdict == Verdict::kAccepted) {
      ++accepted;
      tell("ok {}\n", id);
    } else if ((verdict == Verdict::kCompileError || verdict == Verdict::kNotImplemented) &&
               !reported.insert(std::string(word_of(verdict)) + message).second) {
      tell("{} {}: as above\n", word_of(verdict), id);
    } else {
      tell("{}", failure_text(record, repeat_command(options, id)));
    }
  }
  fmt::print("{}", printed_text(records));
  tell("{}{}{} of {} cases accepted on the {}\n", findings_text(records), writers_text(records), accepted,
       total, run.at("backend") == "cuda" ? "GPU" : "emulator");
  if (summary.faults > 0) return kExitJudgeFault;
  return accepted == total ? kExitGraded : kExitNotAccepted;
}

// Every solution of the staff for the lab: naive, the ladder's steps, optimized.
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
  for (const char* solution : {"optimized", "optimized_3xtf32"}) folders.push_back(room / solution);
  std::erase_if(folders, [](const fs::path& folder) { return !fs::is_directory(folder); });
  return folders;
}

int grade_class(GradeOptions options, bool with_references) {
  if (options.run.empty()) options.run = default_run_folder(options.lab);
  if (with_references) {
    for (const fs::path& folder : reference_solutions(options.lab)) options.references.push_back(folder);
  }
  const GradeSummary summary = grade(options);
  tell("{}", class_table(summary.scores));
  tell("\n{} cases judged, {} recorded before; records: {}\n", summary.recorded, summary.resumed,
       (summary.run / "records.jsonl").string());
  tell("{}", trouble_text(RunFolder(summary.run).read_records(trouble_fields())));
  return summary.faults > 0 ? kExitJudgeFault : kExitGraded;
}

// The staff's solutions (and a submission) against thresholds, as a table.
int bench(GradeOptions options) {
  if (options.run.empty()) options.run = default_run_folder(options.lab + "-bench");
  options.references = reference_solutions(options.lab);
  if (options.references.empty() && !options.submissions) {
    throw UsageError(
        "no solution of the staff's is here for lab {0}, as in a hand-out; `warpgrade grade student/{0} "
        "--lab {0}` judges yours, with times on a GPU",
        options.lab);
  }
  // Without a GPU there is nothing to time: the quick cases show that everything runs.
  if (options.cases.empty() && choose_backend(options.backend).name == "emulator") options.cases = {"public"};
  const GradeSummary summary = grade(options);
  const RunFolder folder(summary.run);
  const json run = folder.read_run();
  if (run.at("backend") != "cuda") {
    tell(
        "{}\nspeed was not measured: the emulator counts instructions, not time. On a machine with an NVIDIA "
        "GPU this prints speed-ups against thresholds.\n",
        class_table(summary.scores));
  } else {
    tell("speed-up over {} [95 % interval], threshold met or not:\n\n{}{}", policy_of(folder, run).baseline,
         speed_table(summary.scores), limit_table(summary.scores));
  }
  fmt::print("\nrecords: {}\n", (summary.run / "records.jsonl").string());
  return summary.faults > 0 ? kExitJudgeFault : kExitGraded;
}

void add_check_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "judge one submission on the public cases");
  command->add_option("submission", options->submission, "its folder")->required();
  add_judging_options(*command, options->grade);
  command->add_flag("--verbose", options->verbose, "show progress");
  command->callback([options, &code] { code = check(*options); });
}

void add_grade_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<GradeOptions>();
  const auto with_references = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("grade", "judge a class");
  command->add_option("submissions", options->submissions, "a folder with one sub-folder for each student");
  command->add_flag("--with-reference", *with_references, "judge the staff's solutions as well");
  command->add_option("--reference", options->references, "a staff solution to judge beside the class");
  add_run_options(*command, *options);
  command->callback([options, with_references, &code] {
    if (!options->submissions && !*with_references && options->references.empty()) {
      throw UsageError("there is nothing to grade: give a folder of submissions, or --with-reference");
    }
    code = grade_class(*options, *with_references);
  });
}

void add_bench_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<GradeOptions>();
  CLI::App* command = app.add_subcommand("bench", "time the staff's solutions against the thresholds");
  add_run_options(*command, *options);
  command->add_option("--submissions", options->submissions,
                      "a folder of submissions that are timed as well");
  command->callback([options, &code] { code = bench(*options); });
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

void add_judging_commands(CLI::App& app, int& code) {
  add_check_command(app, code);
  add_grade_command(app, code);
  add_bench_command(app, code);
}

}  // namespace warpgrade
