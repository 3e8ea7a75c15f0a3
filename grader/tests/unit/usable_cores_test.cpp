// The cores that a control group allows, in the files of the kernel's two versions
// (Documentation/admin-guide/cgroup-v2.rst, cpu.max; scheduler/sched-bwc.rst, cpu.cfs_quota_us).
#include "judge/sandbox/usable_cores.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/files.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

class CpuQuota : public testing::Test {
 protected:
  // A group with these files below the last one.
  fs::path group(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
    folder_ /= name;
    make_directories(folder_);
    write_text(folder_ / "cgroup.procs", "1\n");
    for (const auto& [file, text] : files) write_text(folder_ / file, text + "\n");
    return folder_;
  }

 private:
  TemporaryDirectory scratch_{"usable-cores-test"};
  fs::path folder_ = scratch_.path();
};

TEST_F(CpuQuota, OfVersion2IsReadWithThoseOfTheGroupsAbove) {
  EXPECT_FALSE(cpu_quota(group("root", {})));
  EXPECT_EQ(cpu_quota(group("container", {{"cpu.max", "200000 100000"}})), 2.0);
  EXPECT_EQ(cpu_quota(group("inner", {{"cpu.max", "max 100000"}})), 2.0);
  EXPECT_EQ(cpu_quota(group("innermost", {{"cpu.max", "50000 100000"}})), 0.5);
}

TEST_F(CpuQuota, OfVersion1IsTwoNumbers) {
  EXPECT_FALSE(cpu_quota(group("root", {{"cpu.cfs_quota_us", "-1"}, {"cpu.cfs_period_us", "100000"}})));
  EXPECT_EQ(cpu_quota(group("job", {{"cpu.cfs_quota_us", "150000"}, {"cpu.cfs_period_us", "50000"}})), 3.0);
}

TEST_F(CpuQuota, AMachineHasACoreAndIsBusyBeyondItsCores) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_TRUE(is_busy(usable_cores() + 1));
  EXPECT_NE(load_text(usable_cores() + 7.25).find("the machine was busy"), std::string::npos);
}

}  // namespace
}  // namespace warpgrade
