// A submission in Python becomes a program: a folder that Python runs (judge/runner/triton/README.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/compile/build_steps.h"
#include "judge/compile/compiler.h"

namespace warpgrade {

// Of all that the program follows from.
std::string python_key(const Submission& submission, const CompileOptions& options,
                       const Toolchain& toolchain);

class PythonBuild : private BuildSteps {
 public:
  PythonBuild(const Toolchain& toolchain, const Submission& submission, const CompileOptions& options)
      : BuildSteps(toolchain, submission, options) {}

  CompileResult run();

  // The program that was compiled, as a folder.
  void write(const std::filesystem::path& program) const;

 private:
  bool stage_sources();
  bool compile();
  bool take_kernels(const Step& step);
  bool take_kernel(const Step& step, const nlohmann::json& kernel);

  std::string module_folder_;  // of <lab>.py among the student's files
  std::vector<SubmittedFile> files_;
  nlohmann::json kernels_;                 // as it is written: known fields alone
  std::vector<std::string> fat_binaries_;  // by number
  std::size_t bytes_ = 0;
};

}  // namespace warpgrade
