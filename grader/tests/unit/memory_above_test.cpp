// The limits of the control groups around a task, read from files as Linux has them. Version 2:
// Documentation/admin-guide/cgroup-v2.rst of the kernel, "Memory Interface Files" (memory.max,
// memory.events, memory.events.local). Version 1: Documentation/admin-guide/cgroup-v1/memory.rst
// (memory.limit_in_bytes, memory.oom_control).
#include "judge/sandbox/memory_above.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

// Flat keyed, in the page's order.
std::string events(int oom, int oom_kill) {
  return "low 0\nhigh 0\nmax 31\noom " + std::to_string(oom) + "\noom_kill " + std::to_string(oom_kill) +
         "\noom_group_kill 0\n";
}

class MemoryAboveTest : public testing::Test {
 protected:
  MemoryGroup group(const std::string& name, const std::string& limit, int version = 2) {
    const fs::path folder = scratch_.path() / name;
    make_directories(folder);
    write_text(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes"), limit + "\n");
    return {version, folder};
  }

  TemporaryDirectory scratch_{"memory-above"};
};

TEST_F(MemoryAboveTest, TheLeastLimitOfAllGroupsCounts) {
  const MemoryGroup step = group("step_batch", "max"), job = group("job_7", "943718400"),
                    slice = group("system.slice", "8589934592");
  EXPECT_EQ(least_memory_limit({step, job, slice}), 900u << 20);
  EXPECT_EQ(least_memory_limit({step}), 0u) << "max is no limit";
  EXPECT_EQ(least_memory_limit({}), 0u);
  EXPECT_EQ(least_memory_limit({{2, scratch_.path() / "root"}}), 0u) << "the root group has no memory.max";
}

TEST_F(MemoryAboveTest, Version1SaysNoLimitWithTheLargestNumberOfPages) {
  EXPECT_EQ(least_memory_limit({group("none", "9223372036854771712", 1)}), 0u);
  EXPECT_EQ(least_memory_limit({group("none", "9223372036854771712", 1), group("job", "943718400", 1)}),
            900u << 20);
}

// memory.events counts what happened below as well; memory.events.local what happened at the group itself.
TEST_F(MemoryAboveTest, AGroupsOwnLimitIsToldFromThatOfASubmissionsGroupBelow) {
  const MemoryGroup job = group("job_7", "943718400");
  write_text(job.folder / "memory.events", events(1, 1));  // a submission went beyond its own limit
  write_text(job.folder / "memory.events.local", events(0, 0));
  const std::size_t before = count_memory_kills({job});
  EXPECT_EQ(before, 0u);
  write_text(job.folder / "memory.events", events(2, 2));  // and now the job's was met, by a process below
  write_text(job.folder / "memory.events.local", events(1, 0));
  EXPECT_GT(count_memory_kills({job}), before);
}

TEST_F(MemoryAboveTest, AProcessOfTheGroupItselfThatWasEndedIsCounted) {
  const MemoryGroup job = group("job_7", "max");
  write_text(job.folder / "memory.events.local", events(0, 1));  // the machine had no memory left
  EXPECT_EQ(count_memory_kills({job}), 1u);
}

TEST_F(MemoryAboveTest, AKernelWithoutLocalEventsCountsNothing) {
  const MemoryGroup job = group("job_7", "max");
  write_text(job.folder / "memory.events", events(3, 3));  // memory.events.local came with Linux 5.2
  EXPECT_EQ(count_memory_kills({job}), 0u);
}

TEST_F(MemoryAboveTest, Version1CountsAtTheGroupOfTheProcessThatWasEnded) {
  const MemoryGroup job = group("job_7", "943718400", 1);
  write_text(job.folder / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(count_memory_kills({job}), 2u);
}

}  // namespace
}  // namespace warpgrade
