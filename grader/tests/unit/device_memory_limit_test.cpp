#include "judge/judging/device_memory_limit.h"

#include <gtest/gtest.h>

#include "record/outcome.h"

namespace warpgrade {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

TEST(DeviceMemoryLimit, WhatIsMissingBeyondTheLimitIsTheSubmissions) {
  DeviceMemoryLimit limit(16 * kGiB);
  limit.begin(78 * kGiB);
  limit.begin(1 * kGiB);  // the first one counts
  EXPECT_FALSE(limit.check(78 * kGiB, "spmm_plan"));
  EXPECT_FALSE(limit.check(61 * kGiB, "spmm_plan"));  // the judge's own processes came up
  EXPECT_FALSE(limit.check(80 * kGiB, "spmm_plan"));  // others ended
  const auto over = limit.check(10 * kGiB, "spmm_plan");
  ASSERT_TRUE(over);
  EXPECT_EQ(over->verdict, Verdict::kMemoryLimit);
  EXPECT_EQ(over->reason, Reason::kDeviceMemory);
  EXPECT_EQ(over->message,
            "69632 MiB of device memory are in use after spmm_plan, and the limit is 16384 MiB");
}

TEST(DeviceMemoryLimit, WhereNothingCanBeAskedNobodyIsBlamed) {
  DeviceMemoryLimit limit(kGiB);
  EXPECT_FALSE(limit.check(0, "spmm_plan"));
  limit.begin(std::nullopt);
  EXPECT_FALSE(limit.check(0, "spmm_plan"));
  limit.begin(8 * kGiB);
  EXPECT_FALSE(limit.check(std::nullopt, "spmm_plan"));
  EXPECT_FALSE(limit.starved("naive", "out of memory", std::nullopt, 8 * kGiB));
  EXPECT_EQ(free_device_memory(), std::nullopt);  // this program has no CUDA
}

TEST(DeviceMemoryLimit, ABaselineThatFailsForAnotherReasonIsTheJudgesFault) {
  const DeviceMemoryLimit limit(16 * kGiB);
  EXPECT_FALSE(limit.starved("naive", "crashed", 60 * kGiB, 61 * kGiB));
  EXPECT_FALSE(limit.starved("naive", "crashed", 61 * kGiB, 60 * kGiB));
  EXPECT_FALSE(limit.starved("naive", "no memory", kGiB / 4, kGiB / 2));  // the device is full without it
  const auto starved = limit.starved("naive", "no memory", kGiB / 8, 76 * kGiB);
  ASSERT_TRUE(starved);
  EXPECT_EQ(starved->reason, Reason::kDeviceMemory);
  EXPECT_NE(starved->message.find("left 128 MiB"), std::string::npos) << starved->message;
  EXPECT_TRUE(limit.starved("naive", "no memory", kGiB / 8, 9 * kGiB));  // a small device, all of it taken
}

}  // namespace
}  // namespace warpgrade
