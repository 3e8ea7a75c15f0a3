// What the builds of all languages have in common: steps in the compile box, what they say, what they leave.
#pragma once

#include <string>

#include "judge/compile/compile_sandbox.h"
#include "judge/compile/compiler.h"
#include "judge/compile/submission.h"

namespace warpgrade {

class BuildSteps {
 protected:
  BuildSteps(const Toolchain& toolchain, const Submission& submission, const CompileOptions& options)
      : toolchain_(toolchain), submission_(submission), options_(options), sandbox_(toolchain, options) {}

  // Sets the verdict; false.
  bool fail(Reason reason, std::string message);

  // What a step was to leave behind; false, with a verdict, when it is no plain file of sensible size.
  bool take(const Step& step, const char* name, std::size_t most_bytes, std::string& bytes);

  // Adds to the log what the step said, which is returned, in the student's names.
  std::string listen(const Step& step, const std::filesystem::path& runner = {});

  // False, with a verdict, where the step was ended because its time was over.
  bool fail_in_time(const Step& step, const char* name);

  const Toolchain& toolchain_;
  const Submission& submission_;
  const CompileOptions& options_;
  CompileSandbox sandbox_;
  CompileResult result_;
};

}  // namespace warpgrade
