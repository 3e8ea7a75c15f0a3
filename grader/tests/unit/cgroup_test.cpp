// Control groups with the kernel's own: on a machine that offers none, these tests are skipped and say why.
// Every hostile child is inside the group that is tested and is bounded by itself as well.
#include "judge/sandbox/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <thread>

#include "judge/sandbox/cgroup_files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// The places to test: what was found, and without version 2 where there is both.
std::vector<CgroupPlace> places() {
  std::vector<CgroupPlace> list{cgroup_place()};
  if (cgroup_place().version() == "1+2") {
    CgroupPlace first = cgroup_place();
    std::erase_if(first.hierarchies, [](const CgroupHierarchy& one) { return one.version == 2; });
    list.push_back(first);
  }
  return list;
}

class ControlGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cgroup_place().hierarchies.empty())
      GTEST_SKIP() << "no control groups here: " << cgroup_place().why_not;
  }
  static bool lacks(const char* controller) { return !cgroup_place().can_limit(controller); }

  // A child in the group; _exit(0) follows `work`.
  static pid_t start(const ControlGroup& group, const std::function<void()>& work) {
    const pid_t pid = fork_inside(&group);
    if (pid == 0) {
      alarm(20);
      work();
      _exit(0);
    }
    return pid;
  }
  static int status_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  static bool eventually(const std::function<bool()>& what) {
    for (int i = 0; i < 500 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return what();
  }
  static std::vector<fs::path> folders_left() {
    std::vector<fs::path> left;
    const std::string own = "." + std::to_string(getpid()) + ".";
    for (const CgroupHierarchy& hierarchy : cgroup_place().hierarchies) {
      for (const auto& entry : fs::directory_iterator(hierarchy.base)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("warpgrade.") && name.find(own) != std::string::npos)
          left.push_back(entry.path());
      }
    }
    return left;
  }
};

void hog(void* memory, std::size_t bytes) {
  if (memory == MAP_FAILED) _exit(1);
  for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
}

TEST_F(ControlGroupTest, EndsAProcessBeyondItsMemoryWhicheverKindItTakes) {
  if (lacks("memory")) GTEST_SKIP() << "no memory controller";
  const auto private_memory = [] {
    hog(mmap(nullptr, 192 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 192 * kMiB);
  };
  const auto shared_memory = [] {
    hog(mmap(nullptr, 192 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 192 * kMiB);
  };
  const auto memory_file = [] {
    const int fd = memfd_create("hog", 0);
    const std::vector<char> block(kMiB, 1);
    for (int i = 0; i < 192; ++i)
      if (write(fd, block.data(), block.size()) < 0) _exit(1);
  };
  for (const CgroupPlace& place : places()) {
    for (const std::function<void()>& take :
         std::vector<std::function<void()>>{private_memory, shared_memory, memory_file}) {
      ControlGroup group(place, {.memory_bytes = 96 * kMiB});
      const int status = status_of(start(group, take));
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
      EXPECT_TRUE(group.out_of_memory());
      EXPECT_EQ(group.met_limit(), "more than 96 MiB of memory");
    }
  }
}

TEST_F(ControlGroupTest, CountsWhatIsHeldAndNotWhatSomebodyElseTouchedFirst) {
  if (lacks("memory")) GTEST_SKIP() << "no memory controller";
  const std::size_t bytes = 64 * kMiB;
  void* judges = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  hog(judges, bytes);
  for (const CgroupPlace& place : places()) {
    ControlGroup group(place, {.memory_bytes = 256 * kMiB});
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t pid = start(group, [&] {
      hog(judges, bytes);  // the judge's buffer: charged to the judge, who touched it first
      hog(mmap(nullptr, 32 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 32 * kMiB);
      (void)!write(ready[1], "", 1);
      pause();
    });
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_GE(group.charged_bytes(), 32 * kMiB);
    EXPECT_TRUE(eventually([&] { return group.used_bytes() >= 32 * kMiB; })) << group.used_bytes();
    EXPECT_LT(group.used_bytes(), 56 * kMiB);
    EXPECT_TRUE(group.kill());
    status_of(pid);
    for (const int end : ready) close(end);
  }
  munmap(judges, bytes);
}

TEST_F(ControlGroupTest, RefusesProcessesBeyondTheLimitAndKillsWhatForksWithoutEnd) {
  if (lacks("pids")) GTEST_SKIP() << "no pids controller";
  for (const CgroupPlace& place : places()) {
    ControlGroup group(place, {.processes = 40, .cpu_weight = 10});
    const pid_t pid = start(group, [] {
      for (;;) {
        if (fork() < 0) usleep(100);
      }
    });
    EXPECT_TRUE(eventually([&] { return group.out_of_processes(); }));
    EXPECT_EQ(group.met_limit(), "more than 40 processes and threads");
    const auto begin = Clock::now();
    EXPECT_TRUE(group.kill());
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
    status_of(pid);
  }
}

TEST_F(ControlGroupTest, AFrozenGroupDoesNothingUntilItIsLetGoAndCanBeKilled) {
  if (!cgroup_place().can_freeze()) GTEST_SKIP() << "no freezer";
  auto* count = static_cast<volatile long*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (const CgroupPlace& place : places()) {
    ControlGroup group(place, {});
    const pid_t pid = start(group, [&] {
      signal(SIGCONT, [](int) { _exit(7); });
      for (;;) *count = *count + 1;
    });
    const long before = *count;
    EXPECT_TRUE(eventually([&] { return *count > before; }));
    ASSERT_TRUE(group.freeze());
    const long frozen = *count;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(*count, frozen);
    group.thaw();
    EXPECT_TRUE(eventually([&] { return *count > frozen; }));
    EXPECT_TRUE(group.freeze());
    EXPECT_TRUE(group.kill());
    EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
  }
}

// The files are the kernel's (Documentation/admin-guide/cgroup-v2.rst, cpu.stat; cgroup-v1/cpuacct.rst).
TEST_F(ControlGroupTest, CountsTheCpuTimeOfAllThatWereInItAlsoOfThoseThatHaveEnded) {
  int counted = 0;
  for (const CgroupPlace& place : places()) {
    ControlGroup group(place, {});
    if (!group.cpu_time()) continue;  // version 1 without the controller cpuacct
    ++counted;
    const auto burn = [] {
      while (clock() < CLOCKS_PER_SEC / 5) {
      }
    };
    status_of(start(group, [&] {
      const pid_t child = fork();
      burn();
      if (child > 0) waitpid(child, nullptr, 0);
    }));
    EXPECT_GE(*group.cpu_time(), std::chrono::milliseconds(390));
    EXPECT_LT(*group.cpu_time(), std::chrono::milliseconds(800));
  }
  EXPECT_TRUE(counted > 0 || cgroup_place().version() == "1");
}

TEST_F(ControlGroupTest, IsGoneWithItsProcessesWhenTheObjectIs) {
  for (const CgroupPlace& place : places()) {
    pid_t pid = 0;
    int joined[2];
    ASSERT_EQ(pipe(joined), 0);
    {
      const ControlGroup group(place, {});
      pid = start(group, [&] {
        (void)!write(joined[1], "", 1);
        pause();
      });
      char byte;
      ASSERT_EQ(read(joined[0], &byte, 1), 1);
      EXPECT_FALSE(folders_left().empty());
    }
    EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
    EXPECT_TRUE(folders_left().empty());
    for (const int end : joined) close(end);
  }
}

TEST_F(ControlGroupTest, GroupsOfADeadOwnerAreEmptiedAndRemovedAtTheNextStart) {
  for (const CgroupPlace& place : places()) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t owner = fork();
    if (owner == 0) {  // a judge that dies while its runner is stopped
      ControlGroup group(place, {.processes = 10});
      const pid_t child = start(group, [] { pause(); });
      group.freeze();
      (void)!write(ends[1], &child, sizeof child);
      raise(SIGKILL);
    }
    pid_t child = 0;
    ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    status_of(owner);
    EXPECT_EQ(::kill(child, 0), 0);
    EXPECT_EQ(remove_abandoned_cgroups(place.hierarchies), static_cast<int>(place.hierarchies.size()));
    EXPECT_TRUE(eventually([&] {
      const std::string stat = cgroup_text("/proc/" + std::to_string(child) + "/stat");
      return stat.empty() || stat.find(") Z ") != std::string::npos;
    }));
    for (const int end : ends) close(end);
  }
}

TEST(CgroupNames, OnlyThoseOfADeadOwnerOfThisPidNamespaceAreAbandoned) {
  const std::string mine = new_cgroup_name();
  EXPECT_FALSE(is_abandoned_cgroup(mine));
  EXPECT_NE(mine, new_cgroup_name());
  const std::vector<std::string> parts = cgroup_words(mine, '.');
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_TRUE(
      is_abandoned_cgroup("warpgrade." + parts[1] + "." + parts[2] + ".1.0"));  // the pid is used again
  EXPECT_FALSE(is_abandoned_cgroup("warpgrade.1." + parts[2] + ".1.0"));        // another pid namespace
  EXPECT_FALSE(is_abandoned_cgroup("warpgrade.self"));
  EXPECT_FALSE(is_abandoned_cgroup("user.slice"));
}

TEST(OwnCgroups, AreFoundInVersion2InVersion1InBothAndInAContainer) {
  const std::string second =
      "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(own_cgroups(second, "0::/user.slice/a.scope\n"),
            (std::vector<CgroupHierarchy>{{2, {}, "/sys/fs/cgroup/user.slice/a.scope"}}));
  const std::string first =
      "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "33 23 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
      "34 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(own_cgroups(first, "3:blkio:/\n2:cpu,cpuacct:/job\n1:memory:/job/step\n0::/init\n"),
            (std::vector<CgroupHierarchy>{{1, {"memory"}, "/sys/fs/cgroup/memory/job/step"},
                                          {1, {"cpu"}, "/sys/fs/cgroup/cpu,cpuacct/job"},
                                          {2, {}, "/sys/fs/cgroup/unified/init"}}));
  const std::string container = "31 23 0:27 /docker/7f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  EXPECT_EQ(own_cgroups(container, "1:memory:/docker/7f\n"),
            (std::vector<CgroupHierarchy>{{1, {"memory"}, "/sys/fs/cgroup/memory"}}));
  const std::string spaced = "30 23 0:26 / /mnt/c\\040g rw - cgroup2 none rw\n";
  EXPECT_EQ(own_cgroups(spaced, "0::/\n"), (std::vector<CgroupHierarchy>{{2, {}, "/mnt/c g/"}}));
  EXPECT_TRUE(own_cgroups("garbage\n\n1 2 3 -\n", "no colon\n1:\n").empty());
}

}  // namespace
}  // namespace warpgrade
