// As many compilations at once as there are slots, whoever asks; the others wait in order.
#include "judge/compile/compile_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/elapsed.h"

namespace warpgrade {
namespace {

using std::chrono::milliseconds;

class CompileSlots : public testing::Test {
 protected:
  std::filesystem::path at() const { return scratch_.path() / "slot"; }

 private:
  TemporaryDirectory scratch_{"compile-slot-test"};
};

TEST_F(CompileSlots, AreNeverHeldByMoreThanThereAre) {
  std::atomic<int> now{0}, most{0}, done{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const CompileSlot slot(at(), {4, 7}, milliseconds(20'000));
        EXPECT_TRUE(slot.held());
        const int held = ++now;
        for (int seen = most; held > seen && !most.compare_exchange_weak(seen, held);) {
        }
        std::this_thread::sleep_for(milliseconds(50));
        --now;
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 6);
  EXPECT_EQ(most, 2);
}

TEST_F(CompileSlots, AreNotWaitedForForEver) {
  const CompileSlot only(at(), {0}, milliseconds(100));
  ASSERT_TRUE(only.held());
  const auto start = std::chrono::steady_clock::now();
  const CompileSlot second(at(), {0}, milliseconds(200));
  EXPECT_FALSE(second.held());
  EXPECT_GE(seconds_since(start), 0.2);
}

TEST_F(CompileSlots, OfOtherCoresAreNotWaitedFor) {
  const CompileSlot one(at(), {0, 1}, milliseconds(100)), two(at(), {0, 1}, milliseconds(100));
  ASSERT_TRUE(one.held() && two.held());
  const CompileSlot elsewhere(at(), {2, 3}, milliseconds(20'000));
  EXPECT_TRUE(elsewhere.held());
}

TEST_F(CompileSlots, AreDoneWithoutWhereThereCanBeNoFile) {
  const CompileSlot slot(at() / "no folder/slot", {0}, milliseconds(20'000));
  EXPECT_FALSE(slot.held());
}

}  // namespace
}  // namespace warpgrade
