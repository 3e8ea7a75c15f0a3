#include "report/counters.h"

#include <algorithm>

#include "report/launch_groups.h"
#include "support/base_name.h"
#include "support/json_line.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

double ratio(uint64_t x, uint64_t y) {
  return y == 0 ? 0 : static_cast<double>(x) / static_cast<double>(y);
}

// Figures of something that did not happen are left out of lines' objects.
void number_if(JsonLine& json, const std::string& name, uint64_t value, bool wanted) {
  if (wanted) json.number(name, value);
}

// Of a kernel's sectors: buffers that move less are not told. A program may have thousands.
constexpr double kSmallestPart = 0.002;

constexpr const char* kKindNames[kAccessKinds] = {"load", "store", "atomic"};

GlobalCounts sum(const GlobalCounts (&counts)[kAccessKinds]) {
  GlobalCounts all;
  for (const GlobalCounts& c : counts) {
    all.requests += c.requests;
    all.lanes += c.lanes;
    all.sectors += c.sectors;
    all.ideal_sectors += c.ideal_sectors;
  }
  return all;
}

SharedCounts sum(const SharedCounts (&counts)[kAccessKinds]) {
  SharedCounts all;
  for (const SharedCounts& c : counts) {
    all.requests += c.requests;
    all.passes += c.passes;
    all.ideal_passes += c.ideal_passes;
  }
  return all;
}

void put_global(JsonLine& json, const std::string& prefix, const GlobalCounts& c, bool always) {
  const bool wanted = always || c.requests != 0;
  number_if(json, prefix + "requests", c.requests, wanted);
  number_if(json, prefix + "sectors", c.sectors, wanted);
  number_if(json, prefix + "sectors_ideal", c.ideal_sectors, wanted);
}

void put_shared(JsonLine& json, const std::string& prefix, const SharedCounts& c, bool always) {
  const bool wanted = always || c.requests != 0;
  number_if(json, prefix + "requests", c.requests, wanted);
  number_if(json, prefix + "passes", c.passes, wanted);
  number_if(json, prefix + "passes_ideal", c.ideal_passes, wanted);
}

void put_accesses(JsonLine& json, const AccessCounts& c, bool always) {
  put_global(json, "global_", sum(c.global), always);
  for (uint32_t k = 0; k < kAccessKinds; ++k)
    put_global(json, std::string("global_") + kKindNames[k] + "_", c.global[k], false);
  put_shared(json, "shared_", sum(c.shared), always);
  for (uint32_t k = 0; k < kAccessKinds; ++k)
    put_shared(json, std::string("shared_") + kKindNames[k] + "_", c.shared[k], false);
  number_if(json, "local_requests", c.local_requests, c.local_requests != 0);
  number_if(json, "atomics", c.atomic_lanes, always || c.atomic_lanes != 0);
  number_if(json, "atomic_requests", c.atomic_requests, c.atomic_requests != 0);
  number_if(json, "atomic_turns", c.atomic_turns, c.atomic_requests != 0);
  number_if(json, "divergent_branches", c.divergent_branches, always || c.divergent_branches != 0);
}

void put_instructions(JsonLine& json, const InstructionCounts& c) {
  json.number("warp_instructions", c.executed.warps).number("thread_instructions", c.executed.lanes);
  json.real("active_lanes", ratio(c.executed.lanes, c.executed.warps), 2);
  uint64_t arithmetic = 0, memory = 0;
  JsonLine classes;
  for (size_t k = 0; k < kInstructionClasses; ++k) {
    const auto each = static_cast<InstructionClass>(k);
    if (is_arithmetic(each)) arithmetic += c.classes[k];
    if (is_memory(each)) memory += c.classes[k];
    number_if(classes, name_of(each), c.classes[k], c.classes[k] != 0);
  }
  json.number("arithmetic", arithmetic).number("memory", memory);
  json.object("classes", classes);
}

}  // namespace

void InstructionCounts::add(const InstructionCounts& other) {
  executed.warps += other.executed.warps;
  executed.lanes += other.executed.lanes;
  busy += other.busy;
  for (size_t k = 0; k < kInstructionClasses; ++k) classes[k] += other.classes[k];
  barriers += other.barriers;
  emu::add(accesses, other.accesses);
}

KernelCounters& KernelCounters::instance() {
  static KernelCounters* counters = [] {
    auto* made = new KernelCounters;
    if (settings().levels) made->groups_ = new LaunchGroups;
    return made;
  }();
  return *counters;
}

void KernelCounters::begin_call(bool is_run) {
  std::lock_guard lock(mutex_);
  if (groups_ != nullptr) groups_->begin_call(is_run);
}

void KernelCounters::add_move(uint64_t bytes_read, uint64_t bytes_written) {
  std::lock_guard lock(mutex_);
  if (groups_ != nullptr) groups_->add_move(bytes_read, bytes_written);
}

const KernelCounters::Known& KernelCounters::known(const Program& program) {
  Known& k = known_[&program];
  if (k.title == program.title && k.places.size() == program.code.size()) return k;
  k = {program.title, {}, {}, {}, {}};
  if (groups_ != nullptr) k.chains = find_chains(program);
  for (const Inst& i : program.code) {
    const std::string& opcode = program.texts[i.index];
    k.classes.push_back(classify(opcode));
    k.barriers.push_back(opcode.substr(0, 3) == "bar" && opcode.find("warp") == std::string::npos);
    const Program::Place place = program.place(i);
    k.places.emplace_back(base_name(place.path), place.line);
  }
  return k;
}

void KernelCounters::add(const Program& program, const LaunchShape& shape,
                         const std::vector<Allocation>& allocations, const WorkerCounts& counts,
                         double wall_ms) {
  std::lock_guard lock(mutex_);
  if (settings().reached) return reached_.add(program, counts);
  const Known& k = known(program);
  Kernel& kernel = kernels_[program.title];
  InstructionCounts launch;
  Chain64 chain;
  Chain widest;
  for (size_t i = 0; i < program.code.size(); ++i) {
    const ExecutionCounts &others = counts.executed[i], &busy = counts.busy[i];
    const ExecutionCounts executed{others.warps + busy.warps, others.lanes + busy.lanes};
    if (executed.warps == 0) continue;
    InstructionCounts one;
    one.executed = executed;
    one.busy = busy.warps;
    one.classes[static_cast<size_t>(k.classes[i])] = executed.warps;
    if (k.barriers[i]) one.barriers = executed.warps;
    one.accesses = counts.accesses[i];
    kernel.lines[k.places[i]].add(one);
    if (groups_ == nullptr) continue;
    launch.add(one);
    chain.add(k.chains[i], executed.warps);
    if (k.chains[i].loads > widest.loads) widest = k.chains[i];
  }
  if (groups_ != nullptr) groups_->add(program.title, shape, launch, chain, widest, counts);
  for (const auto& [a, traffic] : counts.traffic.all()) {
    Buffer& buffer = kernel.buffers[allocations[a].name];
    buffer.bytes = std::max(buffer.bytes, allocations[a].bytes());
    for (const bool written : {false, true}) {
      buffer.moved[written] += traffic.moved(written);
      buffer.distinct[written] += traffic.distinct(written);
    }
  }
  const BlockCounts& b = counts.blocks;
  kernel.blocks.blocks += b.blocks;
  kernel.blocks.warp_instructions += b.warp_instructions;
  kernel.blocks.as_if_busiest += b.as_if_busiest;
  if (shape.threads() > kernel.largest.threads()) kernel.largest = shape;
  ++kernel.launches;
  kernel.wall_ms += wall_ms;
  kernel.worst_imbalance =
      std::max(kernel.worst_imbalance, ratio(b.max_block_instructions * b.blocks, b.warp_instructions));
}

void KernelCounters::push(const std::string& title, const Kernel& kernel) {
  InstructionCounts total;
  for (const auto& [place, counts] : kernel.lines) total.add(counts);
  JsonLine json;
  json.text("kernel", title).number("launches", kernel.launches).number("blocks", kernel.blocks.blocks);
  json.triple("grid", kernel.largest.grid).triple("block", kernel.largest.block);
  json.number("shared_bytes", kernel.largest.shared_bytes);
  put_instructions(json, total);
  put_accesses(json, total.accesses, true);
  uint64_t moved[2] = {}, distinct[2] = {};
  for (const auto& [name, buffer] : kernel.buffers) {
    for (const bool written : {false, true}) {
      moved[written] += buffer.moved[written];
      distinct[written] += buffer.distinct[written];
    }
  }
  json.number("distinct_sectors_read", distinct[0]).number("distinct_sectors_written", distinct[1]);
  json.number("barriers", total.barriers).real("wall_ms", kernel.wall_ms, 3);
  json.real("block_imbalance", kernel.worst_imbalance, 2);
  json.real("warp_imbalance", ratio(kernel.blocks.as_if_busiest, kernel.blocks.warp_instructions), 2);
  lines_.push(json.str());
  for (const auto& [place, counts] : kernel.lines) {
    JsonLine line;
    line.text("kernel", title).text("file", place.first).number("line", place.second);
    put_instructions(line, counts);
    number_if(line, "busy_warp_instructions", counts.busy, counts.busy != 0);
    put_accesses(line, counts.accesses, false);
    lines_.push(line.str());
  }
  for (const auto& [name, b] : kernel.buffers) {
    const auto all = static_cast<double>(moved[0] + moved[1]);
    if (static_cast<double>(b.moved[0] + b.moved[1]) < kSmallestPart * all) continue;
    JsonLine line;
    line.text("kernel", title).text("buffer", name).number("bytes", b.bytes);
    line.number("sectors_read", b.moved[0]).number("distinct_sectors_read", b.distinct[0]);
    line.number("sectors_written", b.moved[1]).number("distinct_sectors_written", b.distinct[1]);
    lines_.push(line.str());
  }
}

size_t KernelCounters::drain(char* json_lines, size_t capacity) {
  std::lock_guard lock(mutex_);
  for (const auto& [title, kernel] : kernels_) push(title, kernel);
  kernels_.clear();
  reached_.drain(lines_);
  if (groups_ != nullptr) groups_->drain(lines_);
  return lines_.drain(json_lines, capacity);
}

}  // namespace warpgrade::emu
