#include "cli/machine_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  try {
    return fs::exists(file) ? read_text(file) : "";
  } catch (const std::exception&) {
    return "";
  }
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// What stands behind "NAME:" at the beginning of a line, without spaces; "" where no line has it.
std::string value_of(const std::string& text, const std::string& name) {
  const std::string lines = "\n" + text;
  const std::size_t at = lines.find("\n" + name + ":");
  if (at == std::string::npos) return "";
  const std::size_t from = lines.find_first_not_of(" \t", at + name.size() + 2);
  if (from == std::string::npos || lines[from] == '\n') return "";
  return lines.substr(from, lines.find_first_of(" \t\n", from) - from);
}

// Whether this process has CAP_SYS_ADMIN (number 21): the driver asks for it.
bool may_administrate(const fs::path& root) {
  constexpr int kSysAdmin = 21;
  const std::string held = value_of(text_of(root / "proc/self/status"), "CapEff");
  return ((std::strtoull(held.c_str(), nullptr, 16) >> kSysAdmin) & 1U) != 0;
}

bool is_container(const fs::path& root) {
  return fs::exists(root / ".dockerenv") || fs::exists(root / "run/.containerenv") ||
         fs::exists(root / "run/systemd/container");
}

// Major and minor number at the beginning of a text; {0, 0} for none.
std::pair<int, int> version_in(const std::string& text) {
  char* end = nullptr;
  const long major = std::strtol(text.c_str(), &end, 10);
  if (major <= 0 || major > 1000 || *end != '.') return {0, 0};
  const long minor = std::strtol(end + 1, nullptr, 10);
  return {static_cast<int>(major), static_cast<int>(std::clamp(minor, 0L, 1000L))};
}

// "CUDA Version: 12.4" in the head of nvidia-smi's table. It is the newest that the driver knows.
std::pair<int, int> version_of_driver(const std::string& nvidia_smi) {
  static const std::string kWords = "CUDA Version:";
  const std::size_t at = nvidia_smi.find(kWords);
  if (at == std::string::npos) return {0, 0};
  const std::size_t from = nvidia_smi.find_first_not_of(' ', at + kWords.size());
  return from == std::string::npos ? std::pair{0, 0} : version_in(nvidia_smi.substr(from));
}

}  // namespace

std::optional<MachineFinding> container_finding(const fs::path& root, bool box_works) {
  if (box_works || !is_container(root)) return std::nullopt;
  return MachineFinding{
      "container", "missing", "this container may make no namespaces, so bubblewrap cannot work",
      "start it with --security-opt seccomp=unconfined --security-opt unmask=ALL (Docker: "
      "systempaths=unconfined and apparmor=unconfined); on a platform that starts it for you: "
      "--allow-unsandboxed, for your own code alone"};
}

std::optional<MachineFinding> wsl_finding(const fs::path& root) {
  const std::string kernel = in_small_letters(text_of(root / "proc/version"));
  if (kernel.find("microsoft") == std::string::npos) return std::nullopt;
  if (kernel.find("wsl2") == std::string::npos && !fs::exists(root / "dev/dxg") &&
      kernel.find("version 4.4.") != std::string::npos)
    return MachineFinding{"WSL", "missing", "version 1 has no GPU and no namespaces",
                          "in Windows: wsl --set-version DISTRIBUTION 2"};
  if (!fs::exists(root / "dev/dxg"))
    return MachineFinding{"WSL", "limited", "version 2, and Windows gives it no GPU",
                          "in Windows: wsl --update, then wsl --shutdown, and open it again"};
  if (!fs::exists(root / "usr/lib/wsl/lib/libcuda.so.1"))
    return MachineFinding{"WSL", "limited", "version 2, and Windows has no driver of NVIDIA's with CUDA",
                          "install NVIDIA's driver in Windows, and none inside WSL"};
  for (const char* folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu"})
    if (fs::exists(root / folder / "libcuda.so.1"))
      return MachineFinding{
          "WSL", "limited",
          fmt::format("version 2, and the Linux driver in /{} hides that of Windows", folder),
          "remove it: sudo apt-get remove --purge '^libnvidia-compute-.*' libcuda1"};
  return MachineFinding{"WSL", "ok",
                        "version 2, with the GPU of Windows; who wants ncu's counters allows them there "
                        "(NVIDIA Control Panel, Developer, Manage GPU Performance Counters)",
                        ""};
}

std::optional<MachineFinding> counters_finding(const fs::path& root) {
  const std::string only = value_of(text_of(root / "proc/driver/nvidia/params"), "RmProfilingAdminOnly");
  if (only.empty()) return std::nullopt;
  if (only == "0" || may_administrate(root))
    return MachineFinding{"counters", "ok", "ncu may read the GPU's performance counters", ""};
  return MachineFinding{"counters", "limited",
                        "the driver gives performance counters to administrators alone: ncu ends with "
                        "ERR_NVGPUCTRPERM; judging needs none",
                        is_container(root)
                            ? "start the container with --cap-add SYS_ADMIN, or allow it on the host"
                            : "as root: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 "
                              ">/etc/modprobe.d/counters.conf, make the initramfs anew, and reboot"};
}

std::optional<MachineFinding> newer_toolkit_finding(const std::string& toolkit,
                                                    const std::string& nvidia_smi) {
  const auto compiler = version_in(toolkit), driver = version_of_driver(nvidia_smi);
  if (driver.first == 0 || compiler <= driver) return std::nullopt;
  const std::string known = fmt::format("{}.{}", driver.first, driver.second);
  const bool none_runs = compiler.first > driver.first;
  return MachineFinding{
      "CUDA toolkit", none_runs ? "missing" : "limited",
      fmt::format("nvcc {} is newer than the driver, which knows CUDA {}: {}", toolkit, known,
                  none_runs ? "nothing that it compiles runs on this GPU, and a program that checks no error "
                              "says nothing"
                            : "what it compiles for this GPU runs, PTX does not"),
      fmt::format("set CUDA_HOME to a toolkit of CUDA {} or older, or install a newer driver", known)};
}

}  // namespace warpgrade
