// `warpgrade doctor`: what this machine offers to a judge, and what to do about what it does not. Exit code
// 0: a submission can be isolated fully here; 1: a protection is missing. GPU, toolkit and Slurm never
// decide that.
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "cli/commands.h"
#include "cli/machine_checks.h"
#include "course/batch/judge_process.h"
#include "course/hardware/ncu.h"
#include "judge/sandbox/isolation.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// The first line that the command prints; empty when it can't be run.
std::string first_line_of(std::vector<std::string> command) {
  ProcessOptions options;
  options.command = std::move(command);
  options.timeout = std::chrono::seconds(10);
  try {
    const ProcessResult result = run_process(options);
    return result.ok() ? result.standard_output.substr(0, result.standard_output.find('\n')) : "";
  } catch (const JudgeFault&) {
    return "";
  }
}

std::string word_in(const fs::path& file) {
  try {
    const std::string text = read_text(file);
    return text.substr(0, text.find_first_of("\n "));
  } catch (const UsageError&) {
    return "";
  }
}

const MissingProtection* gap(const Isolation& isolation, const std::string& name) {
  for (const MissingProtection& protection : isolation.missing)
    if (protection.name == name) return &protection;
  return nullptr;
}

// "A submission can ..." of what is missing.
std::string sentence(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

MachineFinding sandbox_finding() {
  const SandboxProbe& probe = probe_sandbox();
  const std::string version = first_line_of({"bwrap", "--version"});
  if (probe.works)
    return {
        "sandbox", "ok",
        (version.empty() ? "bubblewrap" : version) + ": a submission sees no file of yours and no network",
        ""};
  return {"sandbox", "missing", probe.reason + ": a submission would run with your rights",
          version.empty() ? "install the package bubblewrap" : "allow user namespaces (next line)"};
}

MachineFinding namespaces_finding() {
  if (const auto container = container_finding("/", probe_sandbox().works)) return *container;
  if (geteuid() == 0) return {"user namespaces", "ok", "root may make user namespaces", ""};
  if (word_in("/proc/sys/kernel/unprivileged_userns_clone") == "0")
    return {"user namespaces", "missing", "this kernel refuses them to users, so bubblewrap cannot work",
            "as root: sysctl -w kernel.unprivileged_userns_clone=1"};
  if (word_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1")
    return {"user namespaces", "limited", "AppArmor gives them to named programs only",
            "give bubblewrap an AppArmor profile, or as root: sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0"};
  if (word_in("/proc/sys/user/max_user_namespaces") == "0")
    return {"user namespaces", "missing", "none may be made, so bubblewrap cannot work",
            "as root: sysctl -w user.max_user_namespaces=15000"};
  return {"user namespaces", "ok", "users may make them", ""};
}

void add_cgroup_findings(const Isolation& isolation, std::vector<MachineFinding>& findings) {
  std::string list;
  for (const std::string& controller : isolation.controllers) list += (list.empty() ? "" : ", ") + controller;
  const bool none = isolation.cgroup_version == "none";
  const bool whole = isolation.controllers.size() == 3 && isolation.freezer;
  MachineFinding finding{"cgroup",
                         none    ? "missing"
                         : whole ? "ok"
                                 : "limited",
                         "no group can be made here", ""};
  if (!none)
    finding.found = fmt::format("version {}, {} ({})", isolation.cgroup_version, isolation.cgroup_how,
                                list.empty() ? "no controllers" : list);
  if (whole) finding.found += ": memory, processes and CPU time of a submission are bounded";
  findings.push_back(finding);
  for (const char* name : {"memory", "processes", "cpu", "freezer"}) {
    if (const MissingProtection* protection = gap(isolation, name)) {
      findings.push_back(
          {std::string("  ") + name, "missing", sentence(protection->means), protection->cure});
    }
  }
}

MachineFinding seccomp_finding() {
  const FilterProbe& probe = probe_syscall_filter();
  if (probe.works) return {"seccomp", "ok", "system calls that no submission needs are refused", ""};
  return {"seccomp", "missing", "A submission can use every system call", probe.reason};
}

// Kernels for ARM may have larger ones.
MachineFinding page_finding() {
  constexpr long kKnownPage = 4096;
  const long page = sysconf(_SC_PAGESIZE);
  if (page == kKnownPage) return {"memory pages", "ok", "4 KiB", ""};
  return {"memory pages", "missing",
          fmt::format("{} KiB each: submissions cannot share memory with the judge", page / 1024),
          "start a kernel with pages of 4 KiB"};
}

MachineFinding gpu_finding() {
  json device;
  try {
    device = probe_gpu();
  } catch (const JudgeFault&) {
    device = json::object();
  }
  if (!device.empty())
    return {"GPU", "ok",
            fmt::format("{}, driver {}: speed is measured", device.value("name", "unknown"),
                        device.value("driver", "unknown")),
            ""};
  if (driver_library_directory())
    return {"GPU", "limited",
            "a driver's libcuda is there, but no GPU answers: correctness only, on the emulator",
            "run nvidia-smi and read what it prints"};
  return {"GPU", "missing", "no NVIDIA driver: correctness is judged on the emulator, speed is not measured",
          "install NVIDIA's driver where there is a GPU"};
}

// Runs with the hardware's counters: `profile --hardware`, and the desk's. Nothing without NVIDIA's driver.
std::optional<MachineFinding> ncu_finding() {
  if (!fs::exists("/proc/driver/nvidia")) return std::nullopt;
  fs::path toolkit;
  try {
    toolkit = find_toolchain().nvcc.parent_path().parent_path();
  } catch (const std::exception&) {  // the toolkit's own line says so
    toolkit.clear();
  }
  const auto ncu = hardware::find_ncu(toolkit);
  if (!ncu)
    return MachineFinding{"ncu", "limited", "NVIDIA Nsight Compute was not found: no counters of the GPU",
                          "install it with the CUDA toolkit, or set WARPGRADE_NCU"};
  if (const std::string why = hardware::permission_refusal("/"); !why.empty())
    return MachineFinding{"ncu", "limited", why.substr(0, why.find("; as root")),
                          why.substr(why.find("as root"))};
  return MachineFinding{"ncu", "ok",
                        ncu->folder.string() +
                            ": submissions can be counted in a box, also by a desk (`counters` in "
                            "desk.yaml)",
                        ""};
}

MachineFinding disk_finding() {
  constexpr double kFewGib = 5;
  fs::path folder = cache_directory();
  while (!fs::exists(folder) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  struct statvfs space = {};
  if (statvfs(folder.c_str(), &space) != 0)
    return {"disk", "missing", cache_directory().string() + " cannot be reached",
            "set WARPGRADE_CACHE to a folder that can"};
  const double gib = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) / (1 << 30);
  const std::string found =
      fmt::format("{:.0f} GiB free for the cache ({})", gib, cache_directory().string());
  if (access(folder.c_str(), W_OK) != 0)
    return {"disk", "missing", cache_directory().string() + " cannot be written",
            "set WARPGRADE_CACHE to a folder that can"};
  if (gib < kFewGib)
    return {"disk", "limited", found + ": datasets and compiled programs may not fit",
            "free some, or set WARPGRADE_CACHE"};
  return {"disk", "ok", found, ""};
}

// The whole words, of a command that may fail; nothing: there is no such program.
std::optional<std::string> words_of(std::vector<std::string> command) {
  ProcessOptions options;
  options.command = std::move(command);
  options.timeout = std::chrono::seconds(10);
  try {
    const ProcessResult result = run_process(options);
    if (result.exit_code == 127) return std::nullopt;
    return result.standard_output + result.standard_error;
  } catch (const JudgeFault&) {
    return std::nullopt;
  }
}

MachineFinding toolkit_finding() {
  try {
    const Toolchain toolchain = find_toolchain();
    const auto words = words_of({"nvidia-smi"});
    if (const auto newer = newer_toolkit_finding(toolchain.version, words.value_or(""))) return *newer;
    return {"CUDA toolkit", "ok",
            fmt::format("nvcc {} ({}), libraries in {}", toolchain.version, toolchain.nvcc.string(),
                        toolchain.library_directory.string()),
            ""};
  } catch (const std::exception& error) {
    return {"CUDA toolkit", "missing", "nothing can be compiled", error.what()};
  }
}

// Slurm's programs, even for their version, need the cluster's configuration.
MachineFinding unconfigured_finding(const std::string& words) {
  const char* given = std::getenv("SLURM_CONF");
  if (given != nullptr && !fs::exists(given))
    return {"Slurm", "limited", fmt::format("installed, but SLURM_CONF names {}, which is not there", given),
            "set SLURM_CONF to the cluster's slurm.conf"};
  return {"Slurm", "limited",
          "installed, but it finds no configuration: " + words.substr(0, words.find('\n')),
          "set SLURM_CONF to the cluster's slurm.conf, or put that into /etc/slurm; `batch --executor slurm` "
          "works then"};
}

MachineFinding slurm_finding() {
  const std::string version = first_line_of({"sinfo", "--version"});
  if (version.empty()) {
    const auto words = words_of({"sinfo", "--version"});
    if (words) return unconfigured_finding(*words);
    return {"Slurm", "missing", "`batch --executor slurm` does not work here; everything else does", ""};
  }
  const std::string nodes = first_line_of({"sinfo", "--noheader", "--format=%D nodes"});
  if (nodes.empty())
    return {"Slurm", "limited", version + " is installed, but its controller does not answer",
            "start slurmctld, or look at SLURM_CONF"};
  return {"Slurm", "ok", version + ", " + nodes, ""};
}

std::vector<MachineFinding> examine(const Isolation& isolation) {
  std::vector<MachineFinding> findings{sandbox_finding(), namespaces_finding()};
  add_cgroup_findings(isolation, findings);
  findings.push_back(seccomp_finding());
  findings.push_back(page_finding());
  if (const auto wsl = wsl_finding("/")) findings.push_back(*wsl);
  findings.push_back(gpu_finding());
  if (const auto counters = counters_finding("/")) findings.push_back(*counters);
  if (const auto ncu = ncu_finding()) findings.push_back(*ncu);
  findings.push_back(toolkit_finding());
  findings.push_back(disk_finding());
  findings.push_back(slurm_finding());
  return findings;
}

void print(const std::vector<MachineFinding>& findings, const Isolation& isolation) {
  for (size_t i = 0; i < findings.size(); ++i) {
    const MachineFinding& finding = findings[i];
    tell("{:<8} {:<16} {}\n", finding.state, finding.topic, finding.found);
    // One cure for several lines stands behind the last.
    const bool shared = i + 1 < findings.size() && findings[i + 1].advice == finding.advice;
    if (!finding.advice.empty() && !shared) tell("{:<8} {:<16} -> {}\n", "", "", finding.advice);
  }
  if (isolation.missing.empty())
    tell("\nA submission can be isolated fully here.\n");
  else
    tell(
        "\nA submission cannot be isolated fully here ({} missing). Judge only submissions that you trust, "
        "or repair what the lines above name; `grade --require-isolation` refuses until then.\n",
        isolation.missing.size());
}

int doctor(bool as_json) {
  const SandboxMode mode = probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  const Isolation isolation = isolation_of(mode);
  const std::vector<MachineFinding> findings = examine(isolation);
  if (as_json) {
    json list = json::array();
    for (const MachineFinding& finding : findings) {
      const size_t start = finding.topic.find_first_not_of(' ');
      list.push_back({{"topic", finding.topic.substr(start)},
                      {"state", finding.state},
                      {"found", finding.found},
                      {"advice", finding.advice}});
    }
    fmt::print("{}\n", json{{"schema", "warpgrade.doctor.v1"},
                            {"isolated", isolation.missing.empty()},
                            {"isolation", isolation.to_json()},
                            {"findings", list}}
                           .dump(1, ' ', false, json::error_handler_t::replace));
  } else {
    print(findings, isolation);
  }
  return isolation.missing.empty() ? kExitGraded : kExitUsage;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& code) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor",
      "what this machine offers: isolation, GPU, toolkit; exit code 1 where isolation is incomplete");
  command->add_flag("--json", *as_json, "for programs");
  command->callback([as_json, &code] { code = doctor(*as_json); });
}

}  // namespace warpgrade
