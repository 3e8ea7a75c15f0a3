// What estimates of time are made from: which cache would hold a line, and how long chains of waits are.
#include <gtest/gtest.h>

#include "observe/hierarchy.h"
#include "program/build.h"
#include "program/chain.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

void access(uint64_t line, uint32_t sectors, bool write, LevelCounts& counts) {
  SecondLevel::Turn(SecondLevel::instance()).access(line, sectors, !write, write, counts);
}

LevelCounts touch_lines(uint64_t first, uint64_t lines, bool write) {
  LevelCounts counts;
  for (uint64_t line = first; line < first + lines; ++line) access(line, 0xf, write, counts);
  return counts;
}

TEST(SecondLevel, holds_what_was_read_until_it_is_flushed) {
  SecondLevel::instance().flush();
  EXPECT_EQ(touch_lines(0, 100, false).l2_read_misses, 400u);
  EXPECT_EQ(touch_lines(0, 100, false).l2_read_misses, 0u);
  EXPECT_EQ(touch_lines(0, 100, false).l2_accesses, 400u);
  SecondLevel::instance().flush();
  EXPECT_EQ(touch_lines(0, 100, false).l2_read_misses, 400u);
}

TEST(SecondLevel, fetches_the_sectors_of_a_line_that_are_missing_alone) {
  SecondLevel::instance().flush();
  LevelCounts counts;
  access(7, 0x3, false, counts);
  access(7, 0xf, false, counts);
  EXPECT_EQ(counts.l2_read_misses, 4u);
}

TEST(SecondLevel, writes_back_what_has_to_make_room_and_nothing_else) {
  SecondLevel::instance().flush();
  EXPECT_EQ(touch_lines(0, 100, true).written_back, 0u);
  // Far more lines than a sixteenth of any device's cache.
  EXPECT_EQ(touch_lines(1000, 1 << 20, false).written_back, 400u);
  EXPECT_EQ(touch_lines(0, 100, false).l2_read_misses, 400u);
}

TEST(SecondLevel, keeps_what_is_used_again_and_again) {
  SecondLevel::instance().flush();
  LevelCounts counts;
  for (uint64_t line = 1000; line < 1000 + (1 << 18); ++line) {
    access(7, 0x1, false, counts);
    access(line, 0, false, counts);
  }
  EXPECT_EQ(counts.l2_read_misses, 1u);
}

TEST(SecondLevel, tells_allocations_apart) {
  SecondLevel::instance().flush();
  constexpr uint64_t kAllocation = uint64_t{1} << 34;  // in lines
  EXPECT_EQ(touch_lines(5, 1, false).l2_read_misses, 4u);
  EXPECT_EQ(touch_lines(5 + kAllocation, 1, false).l2_read_misses, 4u);
  EXPECT_EQ(touch_lines(5 + 4'000'000 * kAllocation, 1, false).l2_read_misses, 4u);
  EXPECT_EQ(touch_lines(5, 1, false).l2_read_misses, 0u);
}

TEST(HotSectors, tell_the_updates_of_the_most_wanted_sector) {
  HotSectors one, other;
  for (int k = 0; k < 10; ++k) one.add(5, 32);
  one.add(6, 1);
  other.add(5, 8);
  one.merge(other);
  EXPECT_EQ(one.hottest(), 328u);
}

Chain chain_of(const std::string& body) {
  const auto module = parse_module(
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n" + body +
      "\nret;\n}\n");
  const auto program = build_program(*module, "k", {});
  return find_chains(*program).at(program->entry);
}

TEST(Chains, loads_that_need_each_other_wait_one_after_the_other) {
  const Chain c = chain_of(R"(
    .reg .b64 %rd<5>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [k_param_0];
    ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd2]; st.global.u64 [%rd3], %rd3;)");
  EXPECT_EQ(c.global, 2u);
  EXPECT_EQ(c.loads, 2u);
}

TEST(Chains, nobody_waits_for_what_an_update_returns_unless_it_is_read) {
  const std::string begin = ".reg .b64 %rd<5>; .reg .b32 %r<5>; ld.param.u64 %rd1, [k_param_0];";
  EXPECT_EQ(chain_of(begin + "atom.global.add.u32 %r1, [%rd1], 1;").global, 0u);
  EXPECT_EQ(chain_of(begin + "atom.global.add.u32 %r1, [%rd1], 1; st.global.u32 [%rd1], %r1;").global, 1u);
}

TEST(Chains, loads_that_do_not_wait_together) {
  const Chain c = chain_of(R"(
    .reg .b64 %rd<5>; .reg .f32 %f<5>;
    ld.param.u64 %rd1, [k_param_0];
    ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8];
    add.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f3; st.global.f32 [%rd1], %f4;)");
  EXPECT_EQ(c.global, 1u);
  EXPECT_EQ(c.loads, 3u);
  EXPECT_GE(c.cycles, 8u);  // two additions, one after the other
}

}  // namespace
}  // namespace warpgrade::emu
