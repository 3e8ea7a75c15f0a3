// The run box from inside: a program (box_probe.cpp) tries what a submission might, and tells what it
// could do.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/process.h"
#include "judge/sandbox/isolation.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade {
namespace {

using Results = std::map<std::string, std::set<std::string>>;  // by attempt

Results what_the_probe_could_do(BoxKind kind) {
  SandboxSpec spec;
  spec.box = kind;
  spec.mounts = {{BOX_PROBE, "/run/warpgrade/probe", false}};
  spec.command = {"/run/warpgrade/probe"};
  ProcessOptions options =
      boxed(spec, {.memory_bytes = std::size_t{512} << 20, .processes = 64, .cpu_weight = 50});
  options.timeout = std::chrono::seconds(60);
  const ProcessResult result = run_process(options);
  EXPECT_TRUE(result.ok()) << result.describe() << result.standard_error << result.standard_output;
  Results results;
  std::istringstream lines(result.standard_output);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    results[line.substr(0, space)].insert(line.substr(space + 1));
  }
  return results;
}

const Results& runner_box() {
  static const Results results = what_the_probe_could_do(BoxKind::kRunner);
  return results;
}

class RunBox : public testing::Test {
 protected:
  void SetUp() override {
    if (!probe_sandbox().works) GTEST_SKIP() << probe_sandbox().reason;
  }
  static void expect(const std::vector<std::string>& attempts, const std::string& result) {
    for (const std::string& attempt : attempts) {
      ASSERT_TRUE(runner_box().contains(attempt)) << attempt;
      EXPECT_EQ(runner_box().at(attempt), std::set<std::string>{result}) << attempt;
    }
  }
};

TEST_F(RunBox, RefusesSystemCallsThatNoSubmissionNeeds) {
  if (!probe_syscall_filter().works) GTEST_SKIP() << probe_syscall_filter().reason;
  expect({"ptrace", "process_vm_readv", "process_vm_writev", "bpf", "perf_event_open", "userfaultfd",
          "keyctl", "add_key", "request_key", "seccomp", "name_to_handle_at", "open_by_handle_at",
          "memfd_secret", "personality", "TIOCSTI", "TIOCSTI with high bits", "TIOCLINUX"},
         "EPERM");
  expect({"mount", "umount2", "pivot_root", "chroot", "fsopen", "move_mount", "open_tree", "mount_setattr",
          "unshare", "setns", "clone with a namespace"},
         "EPERM");
  expect(
      {"kexec_load", "init_module", "finit_module", "delete_module", "quotactl", "reboot", "swapon", "acct"},
      "EPERM");
  expect({"clone3", "io_uring_setup"}, "ENOSYS");
  expect({"another socket"}, "EAFNOSUPPORT");
  expect({"Seccomp:"}, "2");
#if defined(__x86_64__)
  expect({"x32", "int80"}, "killed");
#endif
}

TEST_F(RunBox, LetsHonestLibrariesWork) {
  expect({"thread", "memfd", "shared memory", "executable memory", "mlock", "affinity", "timer", "spawn",
          "file in /tmp", "unix socket", "unix socketpair", "personality of no change"},
         "ok");
}

TEST_F(RunBox, CanBeWrittenInTwoSmallFoldersOnly) {
  expect({"file in /", "file in /dev", "file in /usr", "file in /run"}, "EROFS");
  expect({"filling /tmp", "filling /dev/shm"}, "ENOSPC");
}

TEST_F(RunBox, ShowsNothingOfTheMachine) {
  expect({"NoNewPrivs:"}, "1");
  expect({"CapEff:"}, "0000000000000000");
  expect({"Uid:"}, "65534");
  expect({"processes"}, "own");
  expect({"network"}, "loopback");
  expect({"cgroups", "gpu nodes"}, "unseen");  // a box gets a GPU by SandboxSpec::gpu alone
}

TEST_F(RunBox, OfTheCompilerRefusesTheSameButRandomisationOfAddresses) {
  if (!probe_syscall_filter().works) GTEST_SKIP() << probe_syscall_filter().reason;
  Results compiler = what_the_probe_could_do(BoxKind::kCompiler);
  EXPECT_EQ(compiler.at("personality"), std::set<std::string>{"ok"});
  compiler["personality"] = {"EPERM"};
  EXPECT_EQ(compiler, runner_box());
}

TEST_F(RunBox, EndsACommandThatTakesTooMuchAndSaysWhatItWas) {
  if (!cgroup_place().can_limit("memory") || !cgroup_place().can_limit("pids"))
    GTEST_SKIP() << "no control groups: " << cgroup_place().why_not;
  const auto result_of = [](const std::string& script) {
    SandboxSpec spec;
    spec.command = {"/bin/sh", "-c", script};
    ProcessOptions options =
        boxed(spec, {.memory_bytes = std::size_t{64} << 20, .processes = 32, .cpu_weight = 10});
    options.timeout = std::chrono::seconds(30);
    options.limits.cpu_seconds = 10;
    return run_process(options);
  };
  EXPECT_EQ(result_of("dd if=/dev/zero of=/dev/null bs=100M count=1").describe(),
            "more than 64 MiB of memory");
  EXPECT_EQ(result_of("bomb() { bomb | bomb & }; bomb; sleep 5").describe(),
            "more than 32 processes and threads");
  EXPECT_TRUE(result_of("exit 0").ok());
}

TEST(Isolation, NamesEachMissingProtectionWithACure) {
  const Isolation bare = isolation_of(SandboxMode::kUnsandboxed);
  const nlohmann::json json = bare.to_json();
  EXPECT_EQ(json.at("sandbox"), "none");
  EXPECT_EQ(json.at("seccomp"), false);
  EXPECT_TRUE(json.at("namespaces").empty());
  const std::set<std::string> missing = json.at("missing").get<std::set<std::string>>();
  EXPECT_TRUE(missing.contains("sandbox") && missing.contains("seccomp"));
  EXPECT_NE(bare.one_line().find("missing: sandbox"), std::string::npos) << bare.one_line();
  for (const MissingProtection& protection : bare.missing) {
    EXPECT_TRUE(protection.means.starts_with("a submission can")) << protection.name;
    EXPECT_FALSE(protection.cure.empty()) << protection.name;
  }
  EXPECT_TRUE(Isolation{}.one_line().empty());
}

}  // namespace
}  // namespace warpgrade
