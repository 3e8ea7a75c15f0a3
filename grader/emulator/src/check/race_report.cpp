#include "check/race_report.h"

#include <cstring>
#include <mutex>
#include <set>

#include "check/diagnose.h"
#include "check/race_advice.h"
#include "findings/python_words.h"
#include "program/program.h"
#include "state/launch.h"
#include "support/base_name.h"

namespace warpgrade::emu {
namespace {

std::string triple(uint64_t linear, const uint32_t* size) {
  return "(" + std::to_string(linear % size[0]) + "," + std::to_string(linear / size[0] % size[1]) + "," +
         std::to_string(linear / size[0] / size[1]) + ")";
}

const char* verb_of(const std::string& access) {
  return access == "load" ? "reads" : access == "store" ? "writes" : "updates";
}

const char* past_verb_of(const std::string& access) {
  return access == "load" ? "read" : access == "store" ? "wrote" : "updated";
}

// What was reported: places of a kernel, and with which memory.
struct Reported {
  std::mutex mutex;
  std::set<std::string> places, places_and_memory;
};

Reported& reported() {
  static auto* instance = new Reported;
  return *instance;
}

std::string key_of(const std::string& kernel, const std::string& path, uint32_t line) {
  return kernel + '\n' + path + ':' + std::to_string(line);
}

// A missing barrier makes pairs of many accesses race; each place of a kernel is told about once a variable.
bool is_reported(const std::string& kernel, const std::string& memory, const Program::Place& here,
                 const Program::Place& there) {
  const std::lock_guard lock(reported().mutex);
  const std::string first = key_of(kernel, here.path, here.line),
                    second = key_of(kernel, there.path, there.line);
  reported().places.insert({first, second});
  const bool first_is_new = reported().places_and_memory.insert(first + '\n' + memory).second;
  const bool second_is_new = reported().places_and_memory.insert(second + '\n' + memory).second;
  return !first_is_new || (first != second && !second_is_new);
}

Relation relation_of(const Warp& w, const Inst& i, uint32_t lane, const RaceParty& other) {
  if (other.block != w.block->linear) return Relation::other_block;
  const uint32_t mine = w.index * kLanes + lane;
  if (mine / kLanes != other.thread / kLanes) return Relation::same_block;
  return other.instruction == i.index ? Relation::same_instruction : Relation::same_warp;
}

}  // namespace

bool is_known_race(const std::string& kernel, const std::string& path, uint32_t line) {
  const std::lock_guard lock(reported().mutex);
  return reported().places.contains(key_of(kernel, path, line));
}

const char* access_of(const Program& program, uint32_t instruction) {
  if (program.code[instruction].category == Category::atomic) return "atomic";
  const std::string& text = program.texts[instruction];
  return text.compare(0, 2, "ld") == 0 ? "load" : "store";
}

bool stores_same(const Warp& w, const Inst& i, uint32_t lane, uint32_t other_lane) {
  if (i.reg_bytes == 0) return false;
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    const uint8_t* values = w.regs + i.vec[k];
    const uint32_t width = std::min<uint32_t>(i.reg_bytes, i.bytes);
    if (std::memcmp(values + size_t(lane) * i.reg_bytes, values + size_t(other_lane) * i.reg_bytes, width) !=
        0)
      return false;
  }
  return true;
}

bool is_silent_store(const Warp& w, const Inst& i, uint32_t lane, uint64_t host) {
  if (i.reg_bytes == 0) return false;
  const auto* memory = reinterpret_cast<const uint8_t*>(host);
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    const uint8_t* value = w.regs + i.vec[k] + size_t(lane) * i.reg_bytes;
    if (std::memcmp(memory + size_t(k) * i.bytes, value, std::min<uint32_t>(i.reg_bytes, i.bytes)) != 0)
      return false;
  }
  return true;
}

void report_race(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, AccessKind kind,
                 const RaceParty& other, const RacedMemory& memory) {
  if (w.block->launch->spoil_trial()) return;
  const Program& program = *w.block->program;
  const Program::Place here = program.place(i), there = program.place(program.code[other.instruction]);
  // Of the blocks that one line allocates, one is told about.
  if (is_reported(program.title, memory.name.substr(0, memory.name.find(" malloc #")), here, there)) return;
  const std::string their_access = access_of(program, other.instruction);
  const Launch& launch = *w.block->launch;
  const Relation relation = relation_of(w, i, lane, other);
  Diagnostic d =
      diagnose(w, i, lane, memory.space == Space::shared ? Finding::shared_race : Finding::global_race);
  // A reduction of Triton's stores a sum from each lane that holds it. Fused multiply-adds make these differ in
  // the last bit, and any of them is right. Shared memory is the compiler's own there.
  if (memory.space == Space::shared && i.index == other.instruction && is_in_triton(d)) return;
  d.access = kind == AccessKind::load ? "load" : kind == AccessKind::store ? "store" : "atomic";
  d.address = memory.address;
  d.bytes = bytes;
  d.allocation = DiagnosedAllocation{memory.name, memory.bytes, memory.offset};
  d.other = DiagnosedParty{there.path, there.line, their_access, triple(other.block, launch.grid),
                           triple(other.thread, launch.block)};
  const std::string what = "byte " + std::to_string(memory.offset) + " of " + memory.name + " (" +
                           std::to_string(memory.bytes) + " bytes)";
  const std::string whom = (relation == Relation::other_block ? "block " + d.other->block + " " : "") +
                           "thread " + d.other->thread;
  const std::string where = " at " + base_name(there.path) + ":" + std::to_string(there.line);
  const RaceAdvice advice =
      race_advice({program, i.index, other.instruction, relation, memory.space, other.learned_without_fence});
  if (!advice.lost.empty()) {
    d.message += "reads, changes and writes " + what + " while " + whom + " does the same" + where + ": " +
                 advice.lost;
  } else {
    d.message += std::string(verb_of(d.access)) + " " + what + ", which " + whom + " " +
                 past_verb_of(their_access) + where + " with nothing between that orders the two";
  }
  d.advice = advice.cure;
  w.block->launch->report(*w.block, std::move(d));
}

void report_copy_race(const Block& block, const CopyParty& copy, const RaceParty& other,
                      const RacedMemory& memory) {
  Launch& launch = *block.launch;
  if (launch.spoil_trial()) return;
  const Program& program = *block.program;
  const Inst& i = program.code[copy.instruction];
  const Program::Place here = program.place(i), there = program.place(program.code[other.instruction]);
  if (is_reported(program.title, memory.name, here, there)) return;
  Diagnostic d = diagnose(block.warps[copy.thread / kLanes], i, copy.thread % kLanes, Finding::shared_race);
  d.access = copy.writes ? "store" : "load";
  d.address = memory.address;
  d.allocation = DiagnosedAllocation{memory.name, memory.bytes, memory.offset};
  const std::string their_access = access_of(program, other.instruction);
  d.other = DiagnosedParty{there.path, there.line, their_access, triple(other.block, launch.grid),
                           triple(other.thread, launch.block)};
  d.message += std::string("an asynchronous copy ") + (copy.writes ? "writes" : "reads") + " byte " +
               std::to_string(memory.offset) + " of " + memory.name + " (" + std::to_string(memory.bytes) +
               " bytes), while thread " + d.other->thread +
               (other.block == block.linear ? "" : " of block " + d.other->block) + " may still be at " +
               base_name(there.path) + ":" + std::to_string(there.line) + ", which " + verb_of(their_access) +
               " it: nothing orders the copy and that access";
  d.advice =
      "Each thread that uses the memory waits until the copy is complete (its mbarrier's phase, or "
      "wait_group "
      "and then __syncthreads()). Before the next copy of the same memory is issued, all those threads must "
      "be "
      "done with it: __syncthreads(), or an mbarrier at which they arrive.";
  launch.report(block, std::move(d));
}

}  // namespace warpgrade::emu
