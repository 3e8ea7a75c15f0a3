#include "judge/compile/tools_check.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/compile_sandbox.h"

namespace warpgrade {
namespace {

// What every submission needs of the machine: the language, a header of the C++ library, a kernel, a link.
constexpr const char* kProbe =
    "#include <vector>\n"
    "__global__ void warpgrade_probe(int* cell) { *cell = 1; }\n"
    "int main() { return static_cast<int>(std::vector<int>(1)[0]); }\n";

void require(const Step& step, const std::string& words, const char* what) {
  if (step.process.ok()) return;
  const std::string line = first_error(words, "probe.cu");
  throw JudgeFault(
      "the {} does not work on this machine: it fails with a small program that is right ({}). Nothing is "
      "said of the submission. `warpgrade doctor` tells what is missing; then run the same command again",
      what, line.empty() ? step.process.describe() : line);
}

}  // namespace

bool is_their_own_error(const std::string& line, const Submission& submission) {
  if (line.find("No such file") != std::string::npos || line.find("could not open") != std::string::npos)
    return false;
  return std::any_of(submission.files.begin(), submission.files.end(), [&](const auto& file) {
    return line.starts_with(file.string() + "(") || line.starts_with(file.string() + ":");
  });
}

void require_working_tools(const Toolchain& toolchain, const CompileOptions& options,
                           const std::vector<std::string>& link_flags) {
  CompileSandbox sandbox(toolchain, options);
  sandbox.add_source({"probe.cu", kProbe});
  const Step compiled =
      sandbox.nvcc({"-std=c++17", "-gencode",
                    fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", options.architecture), "-c",
                    sandbox.stage(0, "source/probe.cu"), "-o", CompileSandbox::inside("build/0.o")});
  require(compiled, sandbox.in_shown_names(compiled.words(), {}), "compiler");
  const UntrustedFile object = compiled.output.read("0.o", kLargestObject);
  if (!object.ok()) throw JudgeFault("the compiler does not work on this machine: it made no object");
  std::vector<std::string> arguments = link_flags;
  arguments.insert(arguments.end(),
                   {"-o", CompileSandbox::inside("build/probe"), sandbox.keep_object(0, object.bytes)});
  const Step linked = sandbox.nvcc(arguments);
  require(linked, sandbox.in_shown_names(linked.words(), {}), "linker");
}

}  // namespace warpgrade
