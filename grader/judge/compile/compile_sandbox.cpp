#include "judge/compile/compile_sandbox.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/compile_key.h"
#include "judge/sandbox/memory_above.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr const char* kInside = "/run/warpgrade";
constexpr std::size_t kCompilerAddressSpace = std::size_t{8} << 30;
constexpr GroupLimits kCompilerGroup{
    .memory_bytes = kCompilerAddressSpace, .processes = 256, .cpu_weight = 50};
constexpr std::size_t kMostWords = 256 << 10;  // of a step's standard output, and of its standard error

fs::path toolkit_home(const Toolchain& toolchain) {
  return fs::canonical(toolchain.nvcc).parent_path().parent_path();
}

fs::path contracts() {
  return project_root() / "reference/include";
}

fs::path object_name(std::size_t number) {
  return fs::path("objects") / fmt::format("{}.o", number);
}

}  // namespace

// nvcc takes the host compiler from -ccbin; the sandbox shows /usr only, so another prefix is mounted as
// it is.
HostCompiler host_compiler() {
  for (const char* name : {"NVCC_CCBIN", "CUDAHOSTCXX"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0' || !fs::exists(value)) continue;
    HostCompiler compiler{{"-ccbin", value}, {}};
    const fs::path given = value;
    for (const fs::path& path : {given, fs::canonical(given)}) {
      const fs::path prefix = path.parent_path().parent_path();
      if (!prefix.string().starts_with("/usr") && prefix != "/")
        compiler.mounts.push_back({prefix, prefix, false});
    }
    return compiler;
  }
  // A compiler that scripts/bootstrap unpacked where none was installed.
  if (const auto packages = bootstrap_value("PACKAGES"); packages && fs::exists(*packages))
    return {{"-ccbin", (fs::path(*packages) / "usr/bin/g++").string()}, {{*packages, *packages, false}}};
  return {};
}

std::string Step::words() const {
  return plain_text(process.standard_output + process.standard_error);
}

CompileSandbox::CompileSandbox(const Toolchain& toolchain, const CompileOptions& options)
    : toolchain_(toolchain),
      options_(options),
      host_(host_compiler()),
      scratch_("warpgrade-compile"),
      deadline_(std::chrono::steady_clock::now() + kWallOverCpu * options.limit) {
  for (const char* folder : {"source", "staged", "objects"}) make_directories(outside(folder));
}

std::string CompileSandbox::inside(const fs::path& name) {
  return (fs::path(kInside) / name).string();
}

// The path that the compiler finds a file under and names it by.
fs::path CompileSandbox::seen(const fs::path& name) const {
  if (options_.sandbox != SandboxMode::kUnsandboxed) return inside(name);
  if (*name.begin() == "include") return contracts() / name.lexically_relative("include");
  return outside(name);
}

void CompileSandbox::add_source(const SubmittedFile& file) const {
  const fs::path place = outside("source") / file.name;
  make_directories(place.parent_path());
  write_scratch(place, file.text);
}

std::string CompileSandbox::stage(std::size_t number, const fs::path& source) {
  const fs::path name = fs::path("staged") / (std::to_string(number) + source.extension().string());
  write_scratch(outside(name), fmt::format("#include \"{}\"\n", seen(source).string()));
  wrappers_.emplace_back(seen(name).string(), seen(source).string());
  return inside(name);
}

std::string CompileSandbox::keep_object(std::size_t number, const std::string& bytes) const {
  const fs::path name = object_name(number);
  write_scratch(outside(name), bytes);
  return inside(name);
}

std::string CompileSandbox::kept_object(std::size_t number) const {
  return read_text(outside(object_name(number)));
}

std::string CompileSandbox::stage_text(const std::string& name, const std::string& text) const {
  write_scratch(outside(fs::path("staged") / name), text);
  return inside(fs::path("staged") / name);
}

fs::path CompileSandbox::fresh_build_folder() {
  fs::path build = outside(fmt::format("build-{}", steps_++));
  make_directories(build);
  return build;
}

Step CompileSandbox::python(const fs::path& program, std::vector<std::string> arguments,
                            const std::vector<Mount>& mounts) {
  const fs::path build = fresh_build_folder();
  UntrustedFolder output(build);
  // Alone: no packages of this machine's, none of the caller's settings.
  std::vector<std::string> command{program.string(), "-I", "-S", "-B"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {run(std::move(command), build, {}, mounts), std::move(output)};
}

Step CompileSandbox::nvcc(std::vector<std::string> arguments, const fs::path& runner) {
  const fs::path build = fresh_build_folder();
  // Opened before anything runs that could put something else in its place.
  UntrustedFolder output(build);
  arguments.insert(arguments.begin(), toolchain_.nvcc.string());
  arguments.insert(arguments.end(), host_.flags.begin(), host_.flags.end());
  return {run(std::move(arguments), build, runner), std::move(output)};
}

// The one place where a command of the compile box starts.
ProcessResult CompileSandbox::run(std::vector<std::string> command, const fs::path& build,
                                  const fs::path& runner, const std::vector<Mount>& more) {
  SandboxSpec spec;
  spec.mode = options_.sandbox;
  spec.command = std::move(command);
  spec.directory = inside("source");
  spec.tmp_bytes = std::size_t{1} << 30;
  const fs::path home = toolkit_home(toolchain_);
  spec.mounts = {{home, home, false},
                 {contracts(), inside("include"), false},
                 {outside("source"), inside("source"), false},
                 {outside("staged"), inside("staged"), false},
                 {outside("objects"), inside("objects"), false},
                 {build, inside("build"), true}};
  if (!options_.contract.empty()) spec.mounts.push_back({options_.contract, inside("contract"), false});
  if (!runner.empty()) spec.mounts.push_back({runner, inside("runner"), false});
  spec.mounts.insert(spec.mounts.end(), more.begin(), more.end());
  const fs::path given = toolchain_.nvcc.parent_path().parent_path();
  if (given != home) spec.mounts.push_back({home, given, false});
  spec.mounts.insert(spec.mounts.end(), host_.mounts.begin(), host_.mounts.end());
  for (const fs::path& folder : options_.extra_includes) spec.mounts.push_back({folder, folder, false});
  spec.environment = {{"PATH", kCompilersPath}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}, {"LC_ALL", "C.UTF-8"}};
  spec.box = BoxKind::kCompiler;
  ProcessOptions process = boxed(spec, kCompilerGroup);
  if (options_.sandbox == SandboxMode::kUnsandboxed) process.directory = outside("source");
  const auto rest = [](auto time) {
    return std::max(std::chrono::milliseconds(1),
                    std::chrono::duration_cast<std::chrono::milliseconds>(time));
  };
  process.timeout = rest(deadline_ - std::chrono::steady_clock::now());
  process.cpu_limit = rest(options_.limit - cpu_time_);
  // Of one process, whatever else fails to count.
  process.limits.cpu_seconds =
      static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::seconds>(options_.limit).count()) + 5;
  process.limits.file_bytes = kLargestObject;
  process.limits.address_space_bytes = kCompilerAddressSpace;
  process.output_bytes = kMostWords;
  const std::size_t kills_before = memory_kills_above();
  ProcessResult result = run_process(process);
  cpu_time_ += result.cpu_time;
  if (result.lacked_memory_above || (!result.ok() && memory_kills_above() > kills_before))
    throw MemoryShort("the compiler was ended by the system: the task or the machine{} has no memory left",
                      memory_limit_words());
  if (!result.ok()) throw_if_disk_is_full(result);
  return result;
}

// The tools name a full disk in several ways, and a source may print the same words.
void CompileSandbox::throw_if_disk_is_full(const ProcessResult& result) const {
  constexpr std::uintmax_t kPlenty = std::uintmax_t{64} << 20;
  std::error_code error;
  const std::uintmax_t left = fs::space(scratch_.path(), error).available;
  if (error || left >= kPlenty) return;
  for (const char* words : {"No space left on device", "Disk quota exceeded", "Input/output error"}) {
    if (result.standard_error.find(words) == std::string::npos &&
        result.standard_output.find(words) == std::string::npos)
      continue;
    throw DiskFull(
        "the disk is full: {} has {} KiB left, and compiling needs more. Nothing is said of the "
        "submission. Free some space, or set TMPDIR to a folder on another disk, and run the same command "
        "again",
        scratch_.path().parent_path().string(), left >> 10);
  }
}

// "In file included from .../staged/0.cu:1:" stands alone before a message of the student's own file, or ends
// the list of includes before a message of a header.
std::string CompileSandbox::without_wrappers(const std::string& words) const {
  const std::string alone = "In file included from " + seen("staged").string() + "/";
  const std::string last = "                 from " + seen("staged").string() + "/";
  std::istringstream lines(words);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(':') && line.starts_with(alone)) continue;
    if (line.ends_with(':') && line.starts_with(last)) {
      if (kept.ends_with(",\n")) kept.replace(kept.size() - 2, 2, ":\n");
      continue;
    }
    kept += line + '\n';
  }
  // 1 error detected in the compilation of "...".
  for (const auto& [wrapper, source] : wrappers_) {
    for (std::size_t at = 0; (at = kept.find(wrapper, at)) != std::string::npos; at += source.size())
      kept.replace(at, wrapper.size(), source);
  }
  return kept;
}

std::string CompileSandbox::in_shown_names(const std::string& words, const fs::path& runner) const {
  ShownNames names;
  for (std::size_t i = 0; i < wrappers_.size(); ++i) {
    const std::string& source = wrappers_[i].second;
    for (const std::string& object : {inside(object_name(i)), outside(object_name(i)).string()})
      names.prefixes.insert(names.prefixes.end(), {{object + ":" + source, source}, {object, source}});
  }
  const fs::path includes =
      options_.sandbox == SandboxMode::kUnsandboxed ? contracts() : fs::path(inside("include"));
  // What was put in above is a source's path, so these come last.
  names.prefixes.insert(names.prefixes.end(),
                        {{seen("source").string() + "/", ""}, {includes.string() + "/", ""}});
  if (!options_.contract.empty()) {
    for (const std::string& folder : {inside("contract"), options_.contract.string()})
      names.prefixes.push_back({folder + "/", ""});
  }
  names.own_folders = {inside("runner") + "/", (project_root() / "grader").string() + "/"};
  if (!runner.empty()) names.own_folders.push_back(runner.string() + "/");
  return with_shown_names(without_wrappers(words), names);
}

}  // namespace warpgrade
