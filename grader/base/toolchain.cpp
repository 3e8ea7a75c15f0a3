#include "base/toolchain.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// The value of a NAME=value line.
std::optional<std::string> value_in(const fs::path& file, const std::string& name) {
  if (!fs::exists(file)) return std::nullopt;
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "=")) continue;
    std::string value = line.substr(name.size() + 1);
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    if (!value.empty()) return value;
  }
  return std::nullopt;
}

std::optional<fs::path> find_in_path(const std::string& program) {
  std::istringstream folders(environment("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / program;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return std::nullopt;
}

std::vector<fs::path> nvcc_candidates() {
  std::vector<fs::path> candidates;
  if (auto nvcc = environment("WARPGRADE_NVCC")) candidates.emplace_back(*nvcc);
  if (auto nvcc = bootstrap_value("NVCC")) candidates.emplace_back(*nvcc);
  if (auto home = environment("CUDA_HOME")) candidates.push_back(fs::path(*home) / "bin/nvcc");
  if (auto nvcc = find_in_path("nvcc")) candidates.push_back(*nvcc);
  candidates.emplace_back("/usr/local/cuda/bin/nvcc");
  return candidates;
}

std::string nvcc_version(const fs::path& nvcc) {
  ProcessOptions options;
  options.command = {nvcc.string(), "--version"};
  options.timeout = std::chrono::seconds(30);
  const ProcessResult result = run_process(options);
  const size_t at = result.standard_output.rfind(", V");
  if (!result.ok() || at == std::string::npos) return "";
  const size_t end = result.standard_output.find_first_of(" \n", at + 3);
  return result.standard_output.substr(at + 3, end - at - 3);
}

std::optional<fs::path> library_directory(const fs::path& nvcc, int major) {
  const fs::path home = fs::canonical(nvcc).parent_path().parent_path();
  const std::string runtime = fmt::format("libcudart.so.{}", major);
  std::vector<fs::path> folders;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    folders.push_back(home / folder);
  // Debian's nvcc is /usr/bin/nvcc, its libraries are among the system's.
  if (home == "/usr" || home == "/usr/lib/nvidia-cuda-toolkit") {
    folders.emplace_back("/usr/lib/x86_64-linux-gnu");
    folders.emplace_back("/usr/lib/aarch64-linux-gnu");
  }
  for (const fs::path& folder : folders)
    if (fs::exists(folder / runtime)) return fs::canonical(folder);
  return std::nullopt;
}

fs::path self() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (n <= 0)
    throw JudgeFault("cannot read /proc/self/exe: this program must find its own folder. Mount /proc");
  return std::string(path.data(), static_cast<size_t>(n));
}

// The folder above the programs' own: the build folder, or an unpacked package. It holds warpgrade.layout,
// whose lines say where the rest is, seen from that folder. So a tree that was copied or moved finds its
// own files.
fs::path installed_folder() {
  return self().parent_path().parent_path();
}

fs::path folder_of_layout(const std::string& name) {
  const fs::path layout = installed_folder() / "warpgrade.layout";
  const auto value = value_in(layout, name);
  if (!value) {
    throw UsageError(
        "{} does not say where '{}' is: a program of Warpgrade was taken out of its folder. Copy the whole "
        "folder, or set WARPGRADE_HOME to the project's",
        layout.string(), name);
  }
  return (installed_folder() / *value).lexically_normal();
}

// A package that lies where this user may not write keeps its files with the user's other caches.
fs::path user_cache() {
  if (auto folder = environment("XDG_CACHE_HOME")) return fs::path(*folder) / "warpgrade";
  if (auto home = environment("HOME")) return fs::path(*home) / ".cache/warpgrade";
  return fs::temp_directory_path() / ("warpgrade-cache-" + std::to_string(geteuid()));
}

}  // namespace

std::optional<std::string> bootstrap_value(const std::string& name) {
  return value_in(cache_directory() / "toolchain.env", name);
}

Toolchain find_toolchain() {
  std::string tried;
  for (const fs::path& candidate : nvcc_candidates()) {
    if (tried.find(candidate.string()) != std::string::npos) continue;
    tried += (tried.empty() ? "" : ", ") + candidate.string();
    if (access(candidate.c_str(), X_OK) != 0) continue;
    Toolchain toolchain;
    toolchain.nvcc = candidate;
    toolchain.version = nvcc_version(candidate);
    if (toolchain.version.empty()) continue;
    std::from_chars(toolchain.version.data(), toolchain.version.data() + toolchain.version.size(),
                    toolchain.major);
    const auto folder = library_directory(candidate, toolchain.major);
    if (!folder) continue;
    toolchain.library_directory = *folder;
    return toolchain;
  }
  throw UsageError(
      "no working nvcc with a shared CUDA runtime beside it (tried {}); run scripts/bootstrap, or set "
      "WARPGRADE_NVCC",
      tried);
}

fs::path project_root() {
  if (auto root = environment("WARPGRADE_HOME")) return *root;
  return folder_of_layout("root");
}

fs::path emulator_directory() {
  if (auto folder = environment("WARPGRADE_EMULATOR")) return *folder;
  return folder_of_layout("emulator");
}

fs::path executor_directory() {
  if (auto folder = environment("WARPGRADE_EXECUTOR_DIRECTORY")) return *folder;
  return folder_of_layout("executor");
}

fs::path program_directory() {
  return self().parent_path();
}

namespace {

// A folder of Python's packages that scripts/bootstrap installs apart from the others.
std::optional<fs::path> packages_apart(const char* variable, const char* package) {
  const auto named = environment(variable);
  const fs::path folder = named ? fs::path(*named) : cache_directory() / package;
  return fs::exists(folder / package / "__init__.py") ? std::optional(folder) : std::nullopt;
}

}  // namespace

std::optional<fs::path> python_program() {
  if (auto python = environment("WARPGRADE_PYTHON")) return *python;
  for (const fs::path& folder : {project_root() / ".venv", cache_directory() / "venv"})
    if (fs::exists(folder / "bin/python")) return folder / "bin/python";
  return std::nullopt;
}

std::optional<fs::path> triton_packages() {
  return packages_apart("WARPGRADE_TRITON", "triton");
}
std::optional<fs::path> numba_packages() {
  return packages_apart("WARPGRADE_NUMBA", "numba");
}

fs::path cache_directory() {
  if (auto folder = environment("WARPGRADE_CACHE")) return *folder;
  const fs::path root = project_root();
  return access(root.c_str(), W_OK) == 0 ? root / ".cache" : user_cache();
}

namespace {

// What changes with a file's content. Reading the number that the linker computed of a program costs nothing;
// hashing 100 MB of programs took a tenth of a second of every call.
std::string identity_of_content(const fs::path& file) {
  if (auto id = build_id(file)) return *id;
  return read_text(file);
}

}  // namespace

HarnessIdentity harness_identity() {
  static const HarnessIdentity identity = [] {
    const fs::path root = project_root();
    std::set<fs::path> files;
    for (const char* folder : {"reference/include", "grader/judge/protocol", "grader/judge/runner",
                               "grader/judge/compile/triton"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.is_regular_file()) files.insert(entry.path());
      }
    }
    Sha256 hash;
    for (const char* program : {"warpgrade", "warpgrade-judge"}) {
      const fs::path path = program_directory() / program;
      if (fs::exists(path)) hash.part(program).part(identity_of_content(path));
    }
    for (const fs::path& folder : {emulator_directory(), executor_directory()}) {
      if (!fs::exists(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const bool is_ours = name.starts_with("libcudart.so") || name == "warpgrade-executor";
        if (is_ours && entry.is_regular_file()) files.insert(entry.path());
      }
    }
    for (const fs::path& file : files) hash.part(file.filename().string()).part(identity_of_content(file));
    return HarnessIdentity{WARPGRADE_VERSION, hash.hex()};
  }();
  return identity;
}

}  // namespace warpgrade
