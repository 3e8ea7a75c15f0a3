// One compilation: a scratch folder of the judge, of which the sandbox sees parts, and the steps that run
// in it.
//
//   /run/warpgrade/source   read-only  the student's files under their own names, for #include and messages
//   /run/warpgrade/staged   read-only  0.cu, 1.cu, ...: one #include each; nvcc is given these names
//   /run/warpgrade/include  read-only  the contracts
//   /run/warpgrade/objects  read-only  0.o, 1.o, ...: what earlier steps made, as the judge took it out
//   /run/warpgrade/runner   read-only  the runner's own objects
//   /run/warpgrade/build    writable   empty, and another folder in each step
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "base/untrusted.h"
#include "judge/compile/compiler.h"
#include "judge/compile/submission.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade {

// The host compiler that NVCC_CCBIN or CUDAHOSTCXX names, and where it lies when that is not /usr.
struct HostCompiler {
  std::vector<std::string> flags;  // -ccbin ...
  std::vector<Mount> mounts;
};
HostCompiler host_compiler();

// What a step may leave behind at most, a file.
inline constexpr std::size_t kLargestObject = std::size_t{256} << 20;

// A step that has ended: what it said, and the folder that it wrote to, held open since before it began.
struct Step {
  ProcessResult process;
  UntrustedFolder output;
  std::string words() const;  // standard output and error as plain text
};

class CompileSandbox {
 public:
  CompileSandbox(const Toolchain& toolchain, const CompileOptions& options);

  // The path of "source/...", "build/..." and so on in a command; wrap() rewrites it where there is
  // no sandbox.
  static std::string inside(const std::filesystem::path& name);

  // Writes one of the student's files into the source folder.
  void add_source(const SubmittedFile& file) const;

  // Writes a source's wrapper, <number><extension>, and returns its path for the command. Its only line
  // includes `source`, as "source/..." or "include/...".
  std::string stage(std::size_t number, const std::filesystem::path& source);

  // Keeps an object for the link step; returns its path for the command.
  std::string keep_object(std::size_t number, const std::string& bytes) const;
  std::string kept_object(std::size_t number) const;

  // Writes a text of the judge's beside the wrappers, and returns its path for the command.
  std::string stage_text(const std::string& name, const std::string& text) const;

  // Makes a fresh build folder and runs Python with it, which sees these folders as well.
  Step python(const std::filesystem::path& program, std::vector<std::string> arguments,
              const std::vector<Mount>& mounts);

  // The path by which a program in the box knows a file or folder of the sandbox.
  std::filesystem::path path_in_box(const std::filesystem::path& name) const { return seen(name); }

  // Makes a fresh build folder and runs nvcc with it. `runner`: the folder of the runner's objects, for
  // the link.
  Step nvcc(std::vector<std::string> arguments, const std::filesystem::path& runner = {});

  // What the compiler said, in the student's names: a path below the source folder, a wrapper or an
  // object becomes the student's file, the judge's own objects (in the folder `runner`) become "the
  // judge's program".
  std::string in_shown_names(const std::string& words, const std::filesystem::path& runner) const;

  // Of all steps so far.
  std::chrono::microseconds cpu_time() const { return cpu_time_; }

 private:
  std::filesystem::path outside(const std::filesystem::path& name) const { return scratch_.path() / name; }
  std::filesystem::path seen(const std::filesystem::path& name) const;
  std::string without_wrappers(const std::string& words) const;
  std::filesystem::path fresh_build_folder();
  void throw_if_disk_is_full(const ProcessResult& result) const;
  ProcessResult run(std::vector<std::string> command, const std::filesystem::path& build,
                    const std::filesystem::path& runner, const std::vector<Mount>& more = {});

  const Toolchain& toolchain_;
  const CompileOptions& options_;
  HostCompiler host_;
  TemporaryDirectory scratch_;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::microseconds cpu_time_{};
  std::size_t steps_ = 0;
  std::vector<std::pair<std::string, std::string>>
      wrappers_;  // by number: each with the file that it includes, as seen
};

}  // namespace warpgrade
