// `warpgrade submit FOLDER --lab LAB`: packs a submission for handing in, once it compiles.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/student_report.h"
#include "course/batch/grade_run.h"
#include "course/submit/pack.h"
#include "judge/compile/older_interface.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

struct SubmitOptions {
  fs::path submission;
  std::string lab = "spmm";
  fs::path output;     // empty: <lab>-submission.tar.gz here
  bool force = false;  // pack what does not compile, too
};

CompileResult try_compile(const Submission& submission, const std::string& lab) {
  CompileOptions options;
  options.lab = lab;
  const Backend backend = choose_backend("auto");
  options.architecture = backend.architecture;
  options.for_gpu = backend.name == "cuda";
  if (is_python(submission)) options.dry_run_cases = find_lab(lab).dry_run_cases({});
  // Your own code, on your own machine.
  if (!probe_sandbox().works) options.sandbox = SandboxMode::kUnsandboxed;
  return Compiler(find_toolchain(), cache_directory() / "compiled").compile(submission, options);
}

// "spmm.cu:31": where the stub's own answer still stands.
std::vector<std::string> unwritten_places(const Submission& submission) {
  std::vector<std::string> places;
  const auto read = read_files(submission);
  if (std::holds_alternative<std::string>(read)) return places;  // packing tells it
  for (const SubmittedFile& file : std::get<std::vector<SubmittedFile>>(read)) {
    std::istringstream lines(file.text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const bool python = file.name.extension() == ".py";
      const std::size_t code =
          line.find(python ? "raise NotImplementedError" : "return cudaErrorNotSupported");
      if (code != std::string::npos && line.find(python ? "#" : "//") > code)
        places.push_back(fmt::format("{}:{}", file.name.string(), number));
    }
  }
  return places;
}

void warn_of_unwritten_stub(const Submission& submission) {
  const std::vector<std::string> places = unwritten_places(submission);
  if (places.empty()) return;
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "" : ", ") + place;
  tell(
      "warning: this packs an unwritten stub: {} still returns cudaErrorNotSupported, which earns no "
      "points\n",
      text);
}

// The folder of labs that the submission lies in, where `test` would find it; else the usual one.
fs::path labs_folder(const fs::path& submission, const std::string& lab) {
  const fs::path folder = fs::absolute(submission).lexically_normal();
  return folder.filename() == lab ? folder.parent_path() : project_root() / "student";
}

int submit(const SubmitOptions& options) {
  find_lab(options.lab);
  const Submission submission = read_submission(options.submission, options.lab, Role::kStudent);
  if (submission.problem) throw UsageError("{}: {}", submission.directory.string(), *submission.problem);
  const CompileResult compiled = try_compile(submission, options.lab);
  if (!compiled.ok()) {
    say("{}: {}\n", compiled.status, compiled.message);
    if (!options.force) {
      say("nothing was packed: correct the source and run the command again, or pack it as it is with "
          "--force (make submit FORCE=1)\n");
      return kExitNotAccepted;
    }
  }
  const fs::path output =
      options.output.empty() ? fs::path(options.lab + "-submission.tar.gz") : options.output;
  const PackedSubmission packed = pack_submission(submission, options.lab, output);
  for (const fs::path& file : packed.files) tell("packed   {}\n", file.string());
  for (const std::string& note : submission.notes) tell("note: {}\n", note);
  const char* reason = is_older_interface(submission.interface, options.lab)
                           ? "not a source file, or a file of the course's own harness"
                           : "no source";
  for (const fs::path& file : packed.left_out) tell("left out {} ({})\n", file.string(), reason);
  tell("{} ({} bytes, submission {})\n", packed.archive.string(), packed.bytes, packed.hash.substr(0, 12));
  warn_of_unwritten_stub(submission);
  tell("it {}; this command tells whether it is right: {}\n", compiled.ok() ? "compiles" : "does not compile",
       test_command(options.lab, "", labs_folder(submission.directory, options.lab)));
  return kExitGraded;
}

}  // namespace

void add_submit_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app.add_subcommand("submit", "pack a submission for handing in");
  command->add_option("submission", options->submission, "its folder")->required();
  command->add_option("--lab", options->lab, "the lab")->capture_default_str();
  command->add_option("--output", options->output, "default: <lab>-submission.tar.gz");
  command->add_flag("--force", options->force, "pack the submission even if it does not compile");
  command->callback([options, &code] { code = submit(*options); });
}

}  // namespace warpgrade
