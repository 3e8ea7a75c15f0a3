// Which protections this machine gives to the run of a submission, and which it does not: what records say,
// what `grade` says once, what --require-isolation asks for, what `warpgrade doctor` explains.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/sandbox/sandbox.h"

namespace warpgrade {

struct MissingProtection {
  std::string name;   // a stable word: sandbox, memory, processes, cpu, freezer, seccomp
  std::string means;  // what a submission can do without it, beginning with "a submission can"
  std::string cure;   // what to do, in one sentence
};

struct Isolation {
  SandboxMode sandbox = SandboxMode::kBubblewrap;
  std::string cgroup_version;            // CgroupPlace::version()
  std::vector<std::string> controllers;  // memory, pids, cpu
  std::string cgroup_how;
  bool freezer = false, group_kill = false, seccomp = false;
  std::vector<MissingProtection> missing;

  nlohmann::json to_json() const;  // grader/course/record/README.md
  std::string one_line() const;    // what is missing and what it means; empty where nothing is
  std::string all_lines() const;   // each missing one with its cure, a line each
};

// Of runs in this mode, on this machine.
Isolation isolation_of(SandboxMode mode);

}  // namespace warpgrade
