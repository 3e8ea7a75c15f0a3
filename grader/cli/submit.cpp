#include "cli/submit.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/toolchain.h"
#include "batch/grade_run.h"
#include "cli/commands.h"
#include "submit/pack.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

CompileResult try_compile(const Submission& submission, const std::string& lab) {
  CompileOptions options;
  options.lab = lab;
  options.architecture = choose_backend("auto").architecture;
  // Your own code, on your own machine.
  if (!probe_sandbox().works) options.sandbox = SandboxMode::kUnsandboxed;
  return Compiler(find_toolchain(), cache_directory() / "compiled").compile(submission, options);
}

}  // namespace

int submit(const SubmitOptions& options) {
  find_lab(options.lab);
  const Submission submission = read_submission(options.submission, options.lab, Role::kStudent);
  if (submission.problem) throw UsageError("{}: {}", submission.directory.string(), *submission.problem);
  const CompileResult compiled = try_compile(submission, options.lab);
  if (!compiled.ok()) {
    fmt::print(stderr, "{}: {}\n", compiled.status, compiled.message);
    if (!options.force) {
      fmt::print(stderr,
                 "nothing was packed: mend it, or pack it as it is with --force (make submit FORCE=1)\n");
      return kExitNotAccepted;
    }
  }
  const fs::path output =
      options.output.empty() ? fs::path(options.lab + "-submission.tar.gz") : options.output;
  const PackedSubmission packed = pack_submission(submission, options.lab, output);
  for (const fs::path& file : packed.files) fmt::print("packed   {}\n", file.string());
  for (const fs::path& file : packed.left_out) fmt::print("left out {} (no source)\n", file.string());
  fmt::print("{} ({} bytes, submission {})\n", packed.archive.string(), packed.bytes,
             packed.hash.substr(0, 12));
  fmt::print("it {}; whether it is right tells: make test LAB={}\n",
             compiled.ok() ? "compiles" : "does not compile", options.lab);
  return kExitGraded;
}

}  // namespace warpgrade
