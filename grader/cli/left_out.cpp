// In place of the library of a course's commands, in a build that only judges: the commands are there and say
// how to get them.
#include "base/error.h"
#include "cli/commands.h"
#include "cli/grades.h"
#include "cli/lab_commands.h"
#include "warpgrade/datasets/cli.h"

namespace warpgrade {
namespace {

[[noreturn]] void refuse(const std::string& command) {
  throw UsageError(
      "`warpgrade {}` is not in this build, which `make demo`, `make test` or `make grade` made and which "
      "only judges. Run `make build`: it adds the rest",
      command);
}

void leave_out(CLI::App& app, const std::string& name, const std::string& what) {
  CLI::App* command = app.add_subcommand(name, what + " (after `make build`)");
  command->set_help_flag();  // its options are not known here either
  command->prefix_command()->callback([name] { refuse(name); });
}

}  // namespace

void add_sweep_command(CLI::App& app, int&) {
  leave_out(app, "sweep", "compile a submission with many settings and find the best");
}
void add_profile_command(CLI::App& app, int&) {
  leave_out(app, "profile", "show where a submission's work goes, line by line, on the emulator");
}
void add_estimate_command(CLI::App& app, int&) {
  leave_out(app, "estimate", "estimate the times that counted runs would take on a GPU");
}
void add_grade_commands(CLI::App& app, int&) {
  leave_out(app, "collect", "merge a run's records, score them, enter them into a gradebook");
  leave_out(app, "grades", "ask the gradebook, or change a grade by hand");
}
void add_policy_command(CLI::App& app, int&) {
  leave_out(app, "policy", "check a policy, or show what it gives");
}
void add_export_command(CLI::App& app, int&) {
  leave_out(app, "attention", "who in a class needs a person");
  leave_out(app, "export", "a run's grades for courseware, students and staff");
}
void add_batch_commands(CLI::App& app, int&) {
  leave_out(app, "batch", "judge a class from an LMS's export, here or on a Slurm cluster");
  leave_out(app, "resume", "go on with a batch that was begun");
  leave_out(app, "cancel", "end a batch");
  leave_out(app, "status", "how far a batch is");
  leave_out(app, "regrade", "judge some of a batch again");
  leave_out(app, "rescore", "give points by another policy");
  leave_out(app, "diff", "compare two runs");
}
void add_desk_command(CLI::App& app, int&) {
  leave_out(app, "desk", "students' runs on the course's GPU: the server's side");
}

// Without a gradebook a report has the computed points; one that is there is not passed over.
std::optional<std::filesystem::path> gradebook_of(const std::filesystem::path& run) {
  if (!std::filesystem::exists(run / "gradebook.json")) return std::nullopt;
  return run / "gradebook.json";
}
const Fields& final_grade_fields() {
  static const Fields none;
  return none;
}
FinalGrades final_grades(const std::filesystem::path& run, const std::optional<std::filesystem::path>& given,
                         const RunParts*) {
  if (!given && !gradebook_of(run)) return {};
  throw UsageError(
      "{}: this build only judges and reads no gradebook, so points that a person set would be missing. Run "
      "`make build`, or take the computed points with --without-overrides",
      run.string());
}

int new_lab(const std::string&) {
  refuse("labs new");
}
int make_lab_pages(const std::string&) {
  refuse("labs pages");
}
int print_contract(const std::string&) {
  refuse("labs contract");
}
int verify_lab(const VerifyOptions&) {
  refuse("labs verify");
}
int try_mutants(const MutantsOptions&) {
  refuse("labs mutants");
}

namespace datasets {

void add_data_commands(CLI::App& app, DataCommandContext&) {
  leave_out(app, "data", "the datasets: list, describe, import, fetch, generate, verify");
}

}  // namespace datasets

}  // namespace warpgrade
