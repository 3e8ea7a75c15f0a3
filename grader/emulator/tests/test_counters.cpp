// The counters of kernels whose cost is known (programs/counted.cu), exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "run_program.h"

namespace {

class Counted {
 public:
  explicit Counted(const std::string& kernel, const std::string& argument = "",
                   const std::string& environment = "")
      : kernel_(kernel),
        text_(run("counted", kernel + " " + argument, environment + " WARPEMU_CHECKS=counters").output) {}

  // Of the kernel; of its marked line; of the buffer with the most bytes.
  double total(const std::string& key) const { return value("\"launches\":", key); }
  double line(const std::string& key) const {
    return value("\"line\":" + std::to_string(marked_line("counted.cu", kernel_, "COUNTED")) + ",", key);
  }
  bool says(const std::string& words) const { return text_.find(words) != std::string::npos; }
  double buffer(const std::string& name, const std::string& key) const {
    return value("\"buffer\":\"" + name + "\"", key);
  }

 private:
  // NaN when there is none, which equals nothing.
  double value(const std::string& mark, const std::string& key) const {
    std::istringstream lines(text_);
    for (std::string l; std::getline(lines, l);) {
      const size_t at = l.find("\"" + key + "\":");
      if (l.find("\"kernel\":\"" + kernel_ + "\"") == std::string::npos ||
          l.find(mark) == std::string::npos || at == std::string::npos)
        continue;
      return std::stod(l.substr(at + key.size() + 3));
    }
    ADD_FAILURE() << "no " << key << " of " << mark << " in\n" << text_;
    return std::nan("");
  }

  std::string kernel_, text_;
};

TEST(Counters, a_coalesced_copy_moves_four_sectors_a_request_and_nothing_twice) {
  const Counted c("copy");
  EXPECT_EQ(c.total("blocks"), 4);
  for (const char* kind : {"load", "store"}) {
    const std::string prefix = std::string("global_") + kind + "_";
    EXPECT_EQ(c.line(prefix + "requests"), 8);
    EXPECT_EQ(c.line(prefix + "sectors"), 32);
    EXPECT_EQ(c.line(prefix + "sectors_ideal"), 32);
  }
  EXPECT_EQ(c.total("distinct_sectors_read"), 32);
  EXPECT_EQ(c.total("distinct_sectors_written"), 32);
  EXPECT_EQ(c.total("active_lanes"), 32);
  EXPECT_EQ(c.total("divergent_branches"), 0);
  EXPECT_EQ(c.total("block_imbalance"), 1);
  EXPECT_EQ(c.total("warp_imbalance"), 1);
  EXPECT_TRUE(c.says("\"grid\":[4,1,1],\"block\":[64,1,1],\"shared_bytes\":0"));
}

TEST(Counters, workers_together_count_what_one_counts) {
  for (const char* key : {"warp_instructions", "global_sectors", "distinct_sectors_read"}) {
    EXPECT_EQ(Counted("reread", "", "WARPEMU_THREADS=1").total(key),
              Counted("reread", "", "WARPEMU_THREADS=3").total(key));
  }
}

TEST(Counters, a_shift_by_one_element_costs_one_sector_more_than_ideal) {
  const Counted c("shifted");
  EXPECT_EQ(c.line("global_load_sectors"), 5);
  EXPECT_EQ(c.line("global_load_sectors_ideal"), 4);
}

TEST(Counters, a_stride_touches_as_many_sectors_as_it_spreads_over) {
  for (const auto& [stride, sectors] : {std::pair{1, 4}, {2, 8}, {8, 32}, {32, 32}}) {
    const Counted c("strided", std::to_string(stride));
    EXPECT_EQ(c.line("global_load_sectors"), sectors) << stride;
    EXPECT_EQ(c.line("global_load_sectors_ideal"), 4) << stride;
    EXPECT_EQ(c.line("global_store_sectors"), 4) << stride;
  }
}

TEST(Counters, lanes_that_read_the_same_need_it_once) {
  const Counted one("uniform"), two("paired");
  EXPECT_EQ(one.line("global_load_sectors"), 1);
  EXPECT_EQ(one.line("global_load_sectors_ideal"), 1);
  EXPECT_EQ(two.line("global_load_sectors"), 2);
  EXPECT_EQ(two.line("global_load_sectors_ideal"), 2);
}

TEST(Counters, lanes_in_no_order_count_each_sector_once) {
  const Counted c("scattered");
  EXPECT_EQ(c.line("global_load_sectors"), 16);
  EXPECT_EQ(c.line("global_load_sectors_ideal"), 2);
  EXPECT_EQ(c.total("distinct_sectors_read"), 16);
}

TEST(Counters, a_float4_a_lane_is_sixteen_sectors) {
  const Counted c("wide");
  EXPECT_EQ(c.line("global_load_requests"), 1);
  EXPECT_EQ(c.line("global_load_sectors"), 16);
  EXPECT_EQ(c.line("global_load_sectors_ideal"), 16);
}

TEST(Counters, a_column_of_a_tile_of_32_conflicts_32_ways_and_padding_cures_it) {
  const Counted column("column"), padded("padded");
  EXPECT_EQ(column.line("shared_load_requests"), 32);
  EXPECT_EQ(column.line("shared_load_passes"), 32 * 32);
  EXPECT_EQ(column.line("shared_load_passes_ideal"), 32);
  EXPECT_EQ(padded.line("shared_load_passes"), 32);
  EXPECT_EQ(padded.line("shared_store_passes"), padded.line("shared_store_requests"));
}

TEST(Counters, wide_shared_reads_go_in_halves_and_quarters_unless_neighbours_agree) {
  EXPECT_EQ(Counted("shared_double", "0").line("shared_load_passes"), 2);
  EXPECT_EQ(Counted("shared_double", "1").line("shared_load_passes"), 1);
  EXPECT_EQ(Counted("shared_double", "5").line("shared_load_passes"), 1);
  EXPECT_EQ(Counted("shared_float4", "0").line("shared_load_passes"), 4);
  EXPECT_EQ(Counted("shared_float4", "1").line("shared_load_passes"), 2);
  EXPECT_EQ(Counted("shared_float4", "5").line("shared_load_passes"), 2);
  EXPECT_EQ(Counted("shared_float4", "0").line("shared_load_passes_ideal"), 4);
}

TEST(Counters, a_loop_that_half_the_lanes_run_has_half_the_lanes_active) {
  const Counted c("halves");
  EXPECT_GE(c.total("divergent_branches"), 1);
  EXPECT_GT(c.line("active_lanes"), 16);
  EXPECT_LT(c.line("active_lanes"), 17);
  EXPECT_LT(c.total("active_lanes"), 18);
}

TEST(Counters, atomics_on_one_address_take_turns) {
  const Counted one("histogram", "5"), pairs("histogram", "1"), spread("histogram", "0");
  EXPECT_EQ(one.line("atomics"), 32);
  EXPECT_EQ(one.line("atomic_requests"), 1);
  EXPECT_EQ(one.line("atomic_turns"), 32);
  EXPECT_EQ(one.line("global_atomic_sectors"), 1);
  EXPECT_EQ(Counted("skewed_histogram").line("atomic_turns"), 31);
  EXPECT_EQ(pairs.line("atomic_turns"), 2);
  EXPECT_EQ(spread.line("atomic_turns"), 1);
  EXPECT_EQ(spread.line("global_atomic_sectors"), 4);
  EXPECT_EQ(Counted("shared_histogram", "5").line("shared_atomic_passes"), 32);
  EXPECT_EQ(Counted("shared_histogram", "1").line("shared_atomic_passes"), 2);
  EXPECT_EQ(Counted("shared_histogram", "0").line("shared_atomic_passes"), 1);
}

TEST(Counters, one_heavy_block_of_four_makes_the_imbalance_nearly_four) {
  const Counted c("heavy_block");
  EXPECT_GT(c.total("block_imbalance"), 3.9);
  EXPECT_LT(c.total("block_imbalance"), 4);
}

TEST(Counters, what_the_busy_warp_of_a_block_does_is_told_line_by_line) {
  const Counted first("serial_end", "0", "WARPEMU_THREADS=1"),
      interpreted("serial_end", "0", "WARPEMU_THREADS=1 WARPEMU_NATIVE=0");
  EXPECT_GT(first.total("warp_imbalance"), 2);
  EXPECT_GT(first.line("warp_instructions"), 4 * 128);
  EXPECT_EQ(first.line("busy_warp_instructions"), first.line("warp_instructions"));
  EXPECT_EQ(interpreted.line("busy_warp_instructions"), first.line("busy_warp_instructions"));
  // Another warp than the first one is known from the second block on.
  const Counted last("serial_end", "127", "WARPEMU_THREADS=1 WARPEMU_NATIVE=always");
  EXPECT_EQ(last.line("warp_instructions"), first.line("warp_instructions"));
  EXPECT_EQ(4 * last.line("busy_warp_instructions"), 3 * last.line("warp_instructions"));
}

TEST(Counters, what_blocks_read_again_is_told_by_the_distinct_sectors) {
  const Counted c("reread");
  EXPECT_EQ(c.total("global_load_sectors"), 32);
  EXPECT_EQ(c.total("distinct_sectors_read"), 4);
  EXPECT_EQ(c.total("distinct_sectors_written"), 32);
  EXPECT_EQ(c.buffer("allocation #2", "sectors_read"), 32);
  EXPECT_EQ(c.buffer("allocation #2", "distinct_sectors_read"), 4);
}

// The lines of all kernels without clock times; those for estimates, or all others.
std::string counted_lines(const std::string& kernel, const std::string& environment,
                          bool for_estimates = false) {
  std::istringstream lines(run("counted", kernel, environment).output);
  std::string kept;
  for (std::string l; std::getline(lines, l);) {
    if ((l.find("launch_group") != std::string::npos) != for_estimates) continue;
    const size_t time = l.find("\"wall_ms\":");
    kept += (time == std::string::npos ? l : l.substr(0, time) + l.substr(l.find(',', time))) + "\n";
  }
  return kept;
}

TEST(Counters, are_the_same_where_caches_are_followed_for_an_estimate) {
  for (const char* kernel : {"copy", "reread", "histogram 1", "heavy_block"}) {
    for (const std::string native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
      const std::string plain = counted_lines(kernel, native + " WARPEMU_CHECKS=counters");
      EXPECT_FALSE(plain.empty());
      EXPECT_EQ(plain, counted_lines(kernel, native + " WARPEMU_CHECKS=counters,levels")) << kernel << native;
    }
  }
}

TEST(Counters, caches_are_followed_alike_interpreted_and_compiled) {
  for (const char* kernel : {"copy", "column", "scattered", "wide", "histogram 1", "reread"}) {
    const std::string interpreted = counted_lines(kernel, "WARPEMU_CHECKS=levels WARPEMU_NATIVE=0", true);
    EXPECT_NE(interpreted.find("\"sampled_l2_accesses\":"), std::string::npos) << kernel;
    for (const std::string isa : {"", " WARPEMU_ISA=v3"}) {
      EXPECT_EQ(interpreted, counted_lines(kernel, "WARPEMU_CHECKS=levels WARPEMU_NATIVE=always" + isa, true))
          << kernel << isa;
    }
  }
}

TEST(Counters, launches_alike_are_summed_up_for_an_estimate) {
  const std::string counted = run("counted", "copy", "WARPEMU_CHECKS=levels").output;
  EXPECT_NE(counted.find("\"launch_group\":"), std::string::npos);
  EXPECT_NE(counted.find("\"chain_global\":8"), std::string::npos);  // 8 warps, each waits once
  EXPECT_EQ(run("counted", "copy", "WARPEMU_CHECKS=counters").output.find("launch_group"), std::string::npos);
}

TEST(Counters, instructions_are_told_apart_by_class) {
  const Counted c("copy");
  EXPECT_EQ(c.line("global"), 16);
  EXPECT_EQ(c.total("memory"), 16);
  EXPECT_EQ(c.total("control"), 8);
  EXPECT_EQ(c.total("parameter"), 16);
}

}  // namespace
