#include "judge/compile/compile_key.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "judge/compile/compile_sandbox.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// Standard output and error of a command that only tells something; "" where it cannot be started.
std::string told_by(std::vector<std::string> command) {
  ProcessOptions options;
  options.command = std::move(command);
  options.environment = {{"PATH", kCompilersPath}, {"LC_ALL", "C"}};
  options.timeout = std::chrono::seconds(30);
  try {
    const ProcessResult result = run_process(options);
    return result.standard_output + result.standard_error;
  } catch (const JudgeFault&) {
    return "";
  }
}

// A command line's first word, without the quotes that may stand around any part of it.
std::string first_word(const std::string& line) {
  std::string word;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ' ' && !quoted)
      break;
    else
      word += c;
  }
  return word;
}

// nvcc prints the commands that it would run, such as `#$ "/usr/bin"/g++-12 -D... -E -x c++ ...`. The
// first one that preprocesses C++ is the host compiler's. So this need not know what -ccbin and
// nvcc's settings mean.
std::string program_that_nvcc_starts(const Toolchain& toolchain, const HostCompiler& host) {
  std::vector<std::string> command{toolchain.nvcc.string(), "--dryrun", "-c", "-x", "cu", "/dev/null"};
  command.insert(command.end(), host.flags.begin(), host.flags.end());
  std::istringstream lines(told_by(std::move(command)));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("#$ ") && line.find(" -E ") != std::string::npos) return first_word(line.substr(3));
  return host.flags.empty() ? "gcc" : host.flags.back();
}

fs::path found_in_path(const fs::path& program) {
  if (program.has_parent_path()) return program;
  std::istringstream folders(kCompilersPath);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::exists(fs::path(folder) / program)) return fs::path(folder) / program;
  return program;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string tools_key(const Toolchain& toolchain) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::string> known;  // by what the answer follows from
  const HostCompiler host = host_compiler();
  std::vector<std::string> asked{toolchain.nvcc.string(), toolchain.version};
  asked.insert(asked.end(), host.flags.begin(), host.flags.end());
  const std::lock_guard lock(mutex);
  std::string& key = known[asked];
  if (!key.empty()) return key;
  const fs::path program = found_in_path(program_that_nvcc_starts(toolchain, host));
  std::error_code error;
  const fs::path real = fs::canonical(program, error);  // /usr/bin/gcc is a link to a version of it
  key = Sha256()
            .part(toolchain.version)
            .part(program.string())
            .part(real.string())
            .part(first_line(told_by({program.string(), "--version"})))
            .hex();
  return key;
}

void add_folder(Sha256& hash, const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.insert(entry.path());
  for (const fs::path& file : files)
    hash.part(file.lexically_relative(folder).string()).part(read_text(file));
}

void add_runner_headers(Sha256& hash) {
  add_folder(hash, project_root() / "reference/include");
  for (const char* folder :
       {"judge/protocol", "judge/runner", "judge/executor", "judge/executor/driver", "cudart"}) {
    std::set<fs::path> headers;
    for (const auto& entry : fs::directory_iterator(project_root() / "grader" / folder))
      if (entry.is_regular_file() && entry.path().extension() == ".h") headers.insert(entry.path());
    for (const fs::path& header : headers) hash.part(header.filename().string()).part(read_text(header));
  }
}

}  // namespace warpgrade
