#include "synth_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// The parameters as a file that goes when this does.
class SpecFile {
 public:
  explicit SpecFile(const StandInSpec& spec) {
    std::string name = (fs::temp_directory_path() / "warpgrade-synth-XXXXXX").string();
    const int fd = mkstemp(name.data());
    if (fd < 0) throw DatasetError("cannot make a temporary file: {}", std::strerror(errno));
    path_ = name;
    const std::string text = to_json(spec);
    const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    if (!written) {
      fs::remove(path_);
      throw DatasetError("cannot write {}", path_.string());
    }
  }
  ~SpecFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  SpecFile(const SpecFile&) = delete;
  SpecFile& operator=(const SpecFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::optional<fs::path> synth_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path program = self.parent_path() / "warpgrade-synth";
  if (error || !fs::exists(program)) return std::nullopt;
  return program;
}

bool has_gpu() {
  return fs::exists("/dev/nvidia0") || fs::exists("/dev/nvidiactl");
}

bool run_synth_program(const fs::path& program, const StandInSpec& spec, const Origin& origin,
                       const fs::path& output) {
  const SpecFile file(spec);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw DatasetError("cannot start {}: {}", program.string(), std::strerror(errno));
  if (child == 0) {
    setenv("NAME", origin.name.c_str(), 1);
    setenv("SOURCE", origin.source.c_str(), 1);
    execl(program.c_str(), program.c_str(), file.path().c_str(), output.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace warpgrade::datasets
