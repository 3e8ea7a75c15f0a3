#include "judge/sandbox/isolation.h"

#include <fmt/format.h>
#include <unistd.h>

namespace warpgrade {

namespace {

// How this process gets control groups.
std::string cgroup_remedy(const CgroupPlace& place) {
  const std::string why = place.why_not.empty() ? "" : " (" + place.why_not + ")";
  if (access("/sys/fs/cgroup", F_OK) != 0) return "mount the cgroup file system at /sys/fs/cgroup";
  if (geteuid() == 0)
    return fmt::format(
        "start warpgrade under `systemd-run --scope -p Delegate=yes`, or, in a container, with "
        "/sys/fs/cgroup mounted writable and a cgroup namespace of its own{}",
        why);
  return fmt::format(
      "start warpgrade under `systemd-run --user --scope -p Delegate=yes`, or as root; on a cluster ask for "
      "delegated control groups{}",
      why);
}

void add_cgroup_gaps(Isolation& isolation, const CgroupPlace& place) {
  const std::string cure = cgroup_remedy(place);
  if (!place.can_limit("memory"))
    isolation.missing.push_back(
        {"memory",
         "a submission can take all memory of the machine as shared memory (private memory is watched)",
         cure});
  if (!place.can_limit("pids"))
    isolation.missing.push_back(
        {"processes",
         geteuid() == 0
             ? "a submission can start processes until the machine stops answering (no limit binds root)"
             : "a submission can start several hundred processes beside the limit of your user",
         cure});
  if (!place.can_limit("cpu"))
    isolation.missing.push_back(
        {"cpu", "a submission can take CPU time from the judge and everybody else", cure});
  if (!place.can_freeze())
    isolation.missing.push_back(
        {"freezer",
         "a submission can notice when it is stopped (SIGSTOP and SIGCONT in place of the freezer)", cure});
}

}  // namespace

Isolation isolation_of(SandboxMode mode) {
  Isolation isolation;
  isolation.sandbox = mode;
  const CgroupPlace& place = cgroup_place();
  isolation.cgroup_version = place.version();
  for (const char* controller : {"memory", "pids", "cpu"}) {
    if (place.can_limit(controller)) isolation.controllers.emplace_back(controller);
  }
  isolation.cgroup_how = place.hierarchies.empty() ? "" : place.how;
  isolation.freezer = place.can_freeze();
  isolation.group_kill = place.can_kill();
  if (mode == SandboxMode::kUnsandboxed) {
    const std::string& reason = probe_sandbox().reason;
    isolation.missing.push_back(
        {"sandbox", "a submission can read and change all that your user can, and reach the network",
         "install bubblewrap and allow user namespaces" + (reason.empty() ? "" : " (" + reason + ")")});
  }
  add_cgroup_gaps(isolation, place);
  isolation.seccomp = mode == SandboxMode::kBubblewrap && probe_syscall_filter().works;
  if (!isolation.seccomp) {
    const std::string& reason = probe_syscall_filter().reason;
    isolation.missing.push_back(
        {"seccomp", "a submission can use every system call of the kernel, and so every hole in one",
         reason.empty() ? "it comes with the sandbox" : reason});
  }
  return isolation;
}

nlohmann::json Isolation::to_json() const {
  const bool boxed = sandbox == SandboxMode::kBubblewrap;
  nlohmann::json names = nlohmann::json::array();
  for (const MissingProtection& protection : missing) names.push_back(protection.name);
  nlohmann::json namespaces = nlohmann::json::array();
  if (boxed) namespaces = {"user", "pid", "network", "ipc", "uts", "mount"};
  nlohmann::json cgroup{{"version", cgroup_version}, {"controllers", controllers}};
  if (!cgroup_how.empty()) cgroup["how"] = cgroup_how;
  return {{"sandbox", boxed ? "bubblewrap" : "none"}, {"namespaces", namespaces}, {"cgroup", cgroup},
          {"pause", freezer ? "freezer" : "SIGSTOP"}, {"seccomp", seccomp},       {"missing", names}};
}

std::string Isolation::one_line() const {
  if (missing.empty()) return {};
  std::string names;
  for (const MissingProtection& protection : missing) names += (names.empty() ? "" : ", ") + protection.name;
  const std::string& first = missing.front().means;
  return fmt::format("not fully isolated, missing: {}. {}; `warpgrade doctor` says what to do", names,
                     "So " + first);
}

std::string Isolation::all_lines() const {
  std::string text;
  for (size_t i = 0; i < missing.size(); ++i) {
    text += fmt::format("\n  {}: {}", missing[i].name, missing[i].means);
    const bool shared = i + 1 < missing.size() && missing[i + 1].cure == missing[i].cure;
    if (!shared) text += "\n    -> " + missing[i].cure;  // one cure for several stands behind the last
  }
  return text;
}

}  // namespace warpgrade
