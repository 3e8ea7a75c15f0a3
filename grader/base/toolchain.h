// Where nvcc and the CUDA libraries are, and which version. Found once by scripts/bootstrap, or here from
// the environment.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace warpgrade {

struct Toolchain {
  std::filesystem::path nvcc;
  std::filesystem::path library_directory;  // libcudart.so.<major>, libcusparse.so
  std::string version;                      // "13.0.88"
  int major = 0;
};

// Throws UsageError when there is no working nvcc: says what was tried and that `scripts/bootstrap`
// installs one.
Toolchain find_toolchain();

// What the checkout holds: contracts, the runner's sources, policies, reference solutions. From
// WARPGRADE_HOME, or told from the program's own place (warpgrade.layout).
std::filesystem::path project_root();

// Folder of the emulated CUDA runtime (libcudart.so.<major>). From WARPGRADE_EMULATOR, or told from the
// program's own place.
std::filesystem::path emulator_directory();
// The folder of warpgrade-executor and of the CUDA runtime that forwards to it.
std::filesystem::path executor_directory();

// What scripts/bootstrap found, by its name in toolchain.env: PACKAGES is the folder of unpacked
// system packages.
std::optional<std::string> bootstrap_value(const std::string& name);

// Folder of the programs built beside this one (warpgrade-judge).
std::filesystem::path program_directory();

// The Python that has what reports and oracles need: WARPGRADE_PYTHON, or the one that scripts/bootstrap
// made, in the project's .venv or in the cache. Nothing where there is none of these.
std::optional<std::filesystem::path> python_program();

// The folder that Triton was installed into, for submissions in Python: WARPGRADE_TRITON, or where
// `scripts/bootstrap triton` puts it. Nothing where there is none.
std::optional<std::filesystem::path> triton_packages();
// The same of Numba, for plain programs: WARPGRADE_NUMBA, `scripts/bootstrap numba`.
std::optional<std::filesystem::path> numba_packages();

// Compiled submissions and datasets. From WARPGRADE_CACHE, or <project root>/.cache; where that cannot be
// written, the user's own cache folder.
std::filesystem::path cache_directory();

// Version and hash of this harness: its programs, the contracts and the runner.
struct HarnessIdentity {
  std::string version;
  std::string hash;
};
HarnessIdentity harness_identity();

}  // namespace warpgrade
