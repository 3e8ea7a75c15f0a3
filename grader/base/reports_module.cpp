#include "base/reports_module.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "base/say.h"
#include "base/toolchain.h"

namespace warpgrade {
namespace {

constexpr int kNoSuchProgram = 127;  // as env and shells say it

// The line that names a missing package; empty where none is missing.
std::string missing_package(const std::string& errors) {
  const size_t at = errors.rfind("No module named");
  return at == std::string::npos ? "" : errors.substr(at, errors.find('\n', at) - at);
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

ProcessResult run_python(const std::string& python, const std::string& module,
                         const std::vector<std::string>& arguments, const FileDescriptor& input) {
  ProcessOptions options;
  // `env` says by its exit code that there is no such program; a process that cannot be started is a fault.
  options.command = {"env", python, "-m", module};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = {{"PYTHONPATH", (project_root() / "reports").string()}};
  if (input) options.descriptors.push_back({input.get(), STDIN_FILENO});
  return run_process(options);
}

std::string output_of(const std::string& python, const std::string& module, const ProcessResult& result) {
  if (result.ok()) {
    say("{}", result.standard_error);
    return result.standard_output;
  }
  const std::string missing =
      result.exit_code == kNoSuchProgram ? "no such program" : missing_package(result.standard_error);
  if (!missing.empty()) {
    throw UsageError("{} cannot run {} ({}): {} reports installs what the reports need", python, module,
                     missing, (project_root() / "scripts/bootstrap").string());
  }
  say("{}", result.standard_error);
  if (result.exit_code == kExitUsage)
    throw UsageError("{} made no file; the lines above tell the reason", module);
  throw JudgeFault("{}: {}: {}", module, result.describe(), last_line(result.standard_error));
}

}  // namespace

std::string run_reports_module(const std::string& module, const std::vector<std::string>& arguments) {
  return ReportsRun(module, arguments).wait();
}

ReportsRun::ReportsRun(std::string module, std::vector<std::string> arguments, Begin begin)
    : python_(python_program().value_or("python3")), module_(std::move(module)) {
  FileDescriptor input;
  if (begin == Begin::kHalf) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw JudgeFault("no pipe: {}", std::strerror(errno));
    input = FileDescriptor(ends[0]);
    go_ = FileDescriptor(ends[1]);
    arguments.emplace_back("--half");
  }
  result_ = std::async(std::launch::async,
                       [python = python_, module = module_, arguments = std::move(arguments),
                        input = std::move(input)] { return run_python(python, module, arguments, input); });
}

void ReportsRun::go_on() {
  // One that has ended meanwhile is heard of by wait().
  if (go_) (void)!write(go_.get(), "\n", 1);
  go_.reset();
}

std::string ReportsRun::wait() {
  go_.reset();
  return output_of(python_, module_, result_.get());
}

}  // namespace warpgrade
