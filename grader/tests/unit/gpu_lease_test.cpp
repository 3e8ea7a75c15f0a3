// Judges that share a GPU: who wants it alone waits for the sharers, goes before those that come later, and a
// sharer lets them go first between the steps of a case.
#include "judge/judging/gpu_lease.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <thread>

#include "judge/judging/services.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

class GpuLeaseTest : public testing::Test {
 protected:
  GpuLeaseTest() {
    std::string name = (fs::temp_directory_path() / "warpgrade-lease-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~GpuLeaseTest() override { fs::remove_all(folder_); }
  fs::path lock() const { return folder_ / "gpu.lock"; }

 private:
  fs::path folder_;
};

TEST_F(GpuLeaseTest, SharersDoNotWaitForEachOther) {
  GpuLease one(lock()), other(lock());
  one.share();
  other.share();
  int paused = 0;
  one.yield_to_owner([&] { ++paused; }, [&] { ++paused; });
  EXPECT_EQ(paused, 0) << "nobody waits: nothing is to be stopped";
}

TEST_F(GpuLeaseTest, WhoWantsItAloneGoesFirstWhenASharerBreathes) {
  GpuLease sharer(lock()), owner(lock());
  std::atomic<bool> owned{false}, ended{false};
  sharer.share();
  std::thread waiting([&] {
    owner.own();
    owned = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
    owner.release();
  });
  bool let_go = false, came_back = false;
  while (!came_back) {
    sharer.yield_to_owner(
        [&] {
          let_go = true;
          EXPECT_FALSE(owned) << "one had it alone while another shared it";
        },
        [&] {
          came_back = true;
          EXPECT_TRUE(ended) << "the sharer came back before the owner had done";
        });
  }
  waiting.join();
  EXPECT_TRUE(let_go);
}

TEST_F(GpuLeaseTest, OnlyTheFirstPlanningOfACaseNeedsTheGpuAlone) {
  JudgeServices services{GpuLease(lock())};
  EXPECT_FALSE(services.planned_before("yelp-k32"));
  EXPECT_TRUE(services.planned_before("yelp-k32"));
  EXPECT_FALSE(services.planned_before("yelp-k256"));
}

}  // namespace
}  // namespace warpgrade
