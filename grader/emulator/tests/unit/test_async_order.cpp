// What racecheck takes for ordered around asynchronous copies (check/async_order.h).
#include <gtest/gtest.h>

#include "check/async_order.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kBarrier = 64, kOther = 72, kStart = 10;

AsyncOrder three_warps() {
  AsyncOrder order;
  order.start(3, 1);
  order.start_block(0, kStart);
  return order;
}

TEST(AsyncOrder, takes_what_was_before_the_block_for_over) {
  const AsyncOrder order = three_warps();
  EXPECT_TRUE(order.is_before(kStart, 1, 0));
  EXPECT_FALSE(order.is_before(kStart + 1, 1, 0));
  EXPECT_TRUE(order.is_before(kStart + 1, 0, 0));
}

TEST(AsyncOrder, an_mbarrier_orders_who_arrived_before_who_waited_and_nobody_else) {
  AsyncOrder order = three_warps();
  order.arrive(1, kBarrier, 20);
  EXPECT_FALSE(order.is_before(20, 1, 0));
  order.pass(0, kBarrier);
  EXPECT_TRUE(order.is_before(20, 1, 0));
  EXPECT_FALSE(order.is_before(21, 1, 0));  // done after it had arrived
  EXPECT_FALSE(order.is_before(20, 1, 2));
  EXPECT_FALSE(order.is_before(20, 2, 0));
}

TEST(AsyncOrder, is_handed_on_from_barrier_to_barrier) {
  AsyncOrder order = three_warps();
  order.arrive(1, kBarrier, 20);
  order.pass(0, kBarrier);
  order.arrive(0, kOther, 30);
  order.pass(2, kOther);
  EXPECT_TRUE(order.is_before(20, 1, 2));
  EXPECT_TRUE(order.is_before(30, 0, 2));
}

TEST(AsyncOrder, the_end_of_a_phase_is_known_to_who_waited_and_whom_it_told) {
  AsyncOrder order = three_warps();
  const uint32_t phase = order.phase_of(kBarrier);
  order.pass(0, kBarrier);  // by a parity that was over from the start
  EXPECT_FALSE(order.knows_end_of(0, kBarrier, phase));
  order.see_parity(kBarrier, 1);
  EXPECT_FALSE(order.knows_end_of(0, kBarrier, phase));
  order.pass(0, kBarrier);
  EXPECT_TRUE(order.knows_end_of(0, kBarrier, phase));
  EXPECT_FALSE(order.knows_end_of(0, kBarrier, phase + 1));
  EXPECT_FALSE(order.knows_end_of(1, kBarrier, phase));
  order.arrive(0, kOther, 40);
  order.pass(1, kOther);
  EXPECT_TRUE(order.knows_end_of(1, kBarrier, phase));
  EXPECT_FALSE(order.knows_end_of(2, kBarrier, phase));
}

TEST(AsyncOrder, a_barrier_of_all_hands_everything_to_all) {
  AsyncOrder order = three_warps();
  const uint32_t phase = order.phase_of(kBarrier);
  order.see_parity(kBarrier, 1);
  order.pass(0, kBarrier);
  order.meet(0, 50);
  for (const uint32_t warp : {0u, 1u, 2u}) {
    EXPECT_TRUE(order.knows_end_of(warp, kBarrier, phase));
    EXPECT_TRUE(order.is_before(50, 2, warp));
  }
  EXPECT_FALSE(order.is_before(51, 2, 1));
}

TEST(AsyncOrder, flags_order_behind_all_who_used_one_before) {
  AsyncOrder order = three_warps();
  order.use_flag(1, 20);
  order.use_flag(0, 21);
  EXPECT_TRUE(order.is_before(20, 1, 0));
  EXPECT_FALSE(order.is_before(21, 0, 1));
}

// Two blocks of two warps, whose clocks differ.
TEST(AsyncOrder, of_a_cluster_a_block_meets_alone_and_the_cluster_as_a_whole) {
  AsyncOrder order;
  order.start(2, 2);
  order.start_block(0, 10);
  order.start_block(1, 500);
  EXPECT_TRUE(order.is_before(500, 2, 0));
  EXPECT_FALSE(order.is_before(501, 2, 0));
  order.meet(1, 510);
  EXPECT_TRUE(order.is_before(510, 2, 3));
  EXPECT_FALSE(order.is_before(510, 2, 0));
  order.meet(0, 20);
  order.meet_blocks();
  EXPECT_TRUE(order.is_before(510, 2, 0));
  EXPECT_TRUE(order.is_before(20, 1, 3));
  order.arrive(3, kBarrier, 520);  // at a barrier of the other block
  order.pass(0, kBarrier);
  EXPECT_TRUE(order.is_before(520, 3, 0));
  EXPECT_FALSE(order.is_before(520, 3, 1));
}

}  // namespace
}  // namespace warpgrade::emu
