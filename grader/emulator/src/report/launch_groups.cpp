#include "report/launch_groups.h"

#include <algorithm>
#include <cmath>

#include "support/json_line.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostGroups = 400;

uint32_t about(uint64_t blocks) {
  return static_cast<uint32_t>(
      std::lround(4 * std::log2(static_cast<double>(std::max<uint64_t>(1, blocks)))));
}

void put_levels(JsonLine& json, const LevelCounts& c) {
  json.number("sampled_loads", c.loads).number("sampled_l1_misses", c.l1_misses);
  json.number("sampled_l2_accesses", c.l2_accesses).number("sampled_l2_read_misses", c.l2_read_misses);
  json.number("sampled_written_back", c.written_back).number("lines", c.lines);
}

void put_accesses(JsonLine& json, const AccessCounts& c) {
  constexpr const char* kKinds[kAccessKinds] = {"load", "store", "atomic"};
  for (uint32_t k = 0; k < kAccessKinds; ++k) {
    const std::string global = std::string("global_") + kKinds[k],
                      shared = std::string("shared_") + kKinds[k];
    json.number(global + "_requests", c.global[k].requests).number(global + "_sectors", c.global[k].sectors);
    json.number(global + "_lanes", c.global[k].lanes);
    json.number(global + "_sectors_ideal", c.global[k].ideal_sectors);
    json.number(shared + "_requests", c.shared[k].requests).number(shared + "_passes", c.shared[k].passes);
    json.number(shared + "_passes_ideal", c.shared[k].ideal_passes);
  }
  json.number("local_requests", c.local_requests).number("atomic_turns", c.atomic_turns);
  json.number("divergent_branches", c.divergent_branches);
}

}  // namespace

void LaunchGroups::begin_call(bool is_run) {
  in_run_ = is_run;
  if (!is_run) return;
  ++runs_;
  SecondLevel::instance().flush();
}

void LaunchGroups::add(const std::string& title, const LaunchShape& shape,
                       const InstructionCounts& instructions, const Chain64& chain, const Chain& widest,
                       const WorkerCounts& counts) {
  const uint64_t blocks = uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  const uint32_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  const Key key{title, in_run_, threads, shape.shared_bytes, about(blocks)};
  if (groups_.size() >= kMostGroups && !groups_.contains(key)) return;
  Group& g = groups_[key];
  if (shape.threads() >= g.largest.threads()) g.largest = shape;
  ++g.launches;
  g.resident_blocks += shape.resident_blocks;
  g.instructions.add(instructions);
  g.chain.add(chain);
  g.widest = widest;
  g.blocks.blocks += counts.blocks.blocks;
  g.blocks.warp_instructions += counts.blocks.warp_instructions;
  g.blocks.max_block_instructions += counts.blocks.max_block_instructions;
  g.blocks.max_warp_instructions += counts.blocks.max_warp_instructions;
  g.blocks.max_warp_loads += counts.blocks.max_warp_loads;
  g.blocks.as_if_busiest += counts.blocks.as_if_busiest;
  g.levels.add(counts.levels);
  if (counts.hot != nullptr) g.hottest += counts.hot->hottest();
  for (const auto& [allocation, traffic] : counts.traffic.all()) {
    for (const bool written : {false, true}) g.distinct[written] += traffic.distinct(written);
  }
}

void LaunchGroups::add_move(uint64_t bytes_read, uint64_t bytes_written) {
  Moves& m = moves_[in_run_];
  ++m.count;
  m.bytes_read += bytes_read;
  m.bytes_written += bytes_written;
}

void LaunchGroups::push(LineQueue& lines, const Key& key, const Group& g, uint64_t number, uint64_t runs) {
  JsonLine json;
  json.text("kernel", std::get<0>(key)).number("launch_group", number);
  json.number("in_run", std::get<1>(key) ? 1 : 0).number("runs", runs).number("launches", g.launches);
  json.triple("grid", g.largest.grid).triple("block", g.largest.block);
  json.number("shared_bytes", g.largest.shared_bytes).number("cooperative", g.largest.cooperative ? 1 : 0);
  json.number("waits_for_blocks", g.largest.waits_for_blocks ? 1 : 0);
  json.number("resident_blocks", g.resident_blocks).number("blocks", g.blocks.blocks);
  json.number("warp_instructions", g.instructions.executed.warps);
  json.number("thread_instructions", g.instructions.executed.lanes);
  JsonLine classes;
  for (size_t k = 0; k < kInstructionClasses; ++k)
    classes.number(name_of(static_cast<InstructionClass>(k)), g.instructions.classes[k]);
  json.object("classes", classes);
  put_accesses(json, g.instructions.accesses);
  put_levels(json, g.levels);
  json.number("hottest_sector_updates", g.hottest).number("barriers", g.instructions.barriers);
  json.number("chain_global", g.chain.global).number("chain_shared", g.chain.shared);
  json.number("chain_cycles", g.chain.cycles).number("chain_loads", g.chain.loads);
  json.number("widest_global", g.widest.global).number("widest_loads", g.widest.loads);
  json.number("widest_shared", g.widest.shared).number("widest_cycles", g.widest.cycles);
  json.number("max_warp_loads", g.blocks.max_warp_loads);
  json.number("max_warp_instructions", g.blocks.max_warp_instructions);
  json.number("max_block_instructions", g.blocks.max_block_instructions);
  json.number("as_if_busiest", g.blocks.as_if_busiest);
  json.number("distinct_sectors_read", g.distinct[0]).number("distinct_sectors_written", g.distinct[1]);
  lines.push(json.str());
}

void LaunchGroups::drain(LineQueue& lines) {
  uint64_t number = 0;
  const uint64_t runs = std::max<uint64_t>(1, runs_);
  for (const auto& [key, group] : groups_) push(lines, key, group, number++, runs);
  for (const bool in_run : {false, true}) {
    const Moves& m = moves_[in_run];
    if (m.count == 0) continue;
    JsonLine json;
    json.text("kernel", "").number("launch_group", number++).number("in_run", in_run ? 1 : 0);
    json.number("runs", runs).number("launches", m.count);
    json.number("bytes_read", m.bytes_read).number("bytes_written", m.bytes_written);
    lines.push(json.str());
  }
  groups_.clear();
  moves_[0] = moves_[1] = {};
  runs_ = 0;
}

}  // namespace warpgrade::emu
