// `warpgrade python`: a program in Python, with kernels of Triton or Numba, without a GPU.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "cli/commands.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

struct PythonOptions {
  std::string checks = "memcheck,initcheck,racecheck,synccheck", device;
};

void prepend(const char* variable, const fs::path& folder) {
  const char* before = std::getenv(variable);
  const std::string rest = before != nullptr && *before != '\0' ? std::string(":") + before : "";
  setenv(variable, (folder.string() + rest).c_str(), 1);
}

// Numba compiles with parts of the toolkit, and looks for it there. Triton needs none.
void name_toolkit() {
  try {
    setenv("CUDA_HOME", find_toolchain().nvcc.parent_path().parent_path().c_str(), 0);
  } catch (const UsageError&) {  // Numba says what it misses
  }
}

// Becomes the emulator's own command, which starts Python and tells what was found.
[[noreturn]] void become(const PythonOptions& options, const std::vector<std::string>& program) {
  if (program.empty())
    throw UsageError("name a program in Python, for instance `warpgrade python kernel.py`");
  const std::string python = python_program().value_or("python3");
  std::vector<std::string> command{python, (project_root() / "grader/emulator/python/warpemu.py").string(),
                                   "--checks", options.checks};
  if (!options.device.empty()) command.insert(command.end(), {"--device", options.device});
  command.insert(command.end(), {"--", python});
  command.insert(command.end(), program.begin(), program.end());
  setenv("WARPEMU_LIBRARIES", emulator_directory().c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 0);  // the tree may be somebody else's
  setenv("WARPEMU_BOOTSTRAP", (project_root() / "scripts/bootstrap").c_str(), 1);  // for what is missing
  name_toolkit();
  for (const auto& folder : {triton_packages(), numba_packages()}) {
    if (folder) prepend("PYTHONPATH", *folder);
  }
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw UsageError("{} cannot be started: {}", python, std::strerror(errno));
}

}  // namespace

void add_python_command(CLI::App& app, int&) {
  const auto options = std::make_shared<PythonOptions>();
  CLI::App* command = app.add_subcommand(
      "python",
      "run a program in Python without a GPU: kernels of Triton or Numba, arrays of NumPy or torch's CPU");
  command->add_option("--checks", options->checks, "what the emulator looks for; all: leaks as well")
      ->capture_default_str();
  command->add_option("--device", options->device, "what the device claims to be: a100 (default), h200, ...");
  command->prefix_command();
  command->footer("Exit code: 1 where mistakes were found, else the program's own.");
  command->callback([command, options] { become(*options, command->remaining()); });
}

}  // namespace warpgrade
