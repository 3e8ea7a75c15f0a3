#include "check/race_advice.h"

#include <algorithm>
#include <optional>

#include "check/address_shape.h"
#include "check/lost_update.h"

namespace warpgrade::emu {
namespace {

constexpr const char* kOwnElement =
    "each thread of the grid has an element of its own at blockIdx.x * blockDim.x + threadIdx.x";

// Where a kernel orders its blocks, those that tell each other without a fence are told of alone.
constexpr const char* kFenceBetween =
    "An atomic operation or a flag does not keep the order of the writes before it: the other block may see "
    "it, and "
    "not yet what was written. Put __threadfence() between the write and the atomic operation (or the flag) "
    "that "
    "tells of it, and again behind the one by which the other block learns of it.";

constexpr const char* kFenceBehind =
    "The block that wrote has a fence, and this one has none: it may know by the lock, the flag or the "
    "counter that the other is done, and still read an old value. Put __threadfence() behind the atomic "
    "operation (or the loop that waits), before the first access of what the other block wrote.";

bool is_atomic_access(const Program& program, uint32_t k) {
  return program.code[k].category == Category::atomic;
}

bool is_plain_load(const Program& program, uint32_t k) {
  return !is_atomic_access(program, k) && program.texts[k].starts_with("ld");
}

bool is_fence_at(const Program& program, uint32_t k) {
  return program.texts[k].starts_with("membar") || program.texts[k].starts_with("fence");
}

bool is_one_line(const Program& program, uint32_t k, uint32_t other) {
  const Program::Place here = program.place(program.code[k]), there = program.place(program.code[other]);
  return here.line == there.line && here.path == there.path;
}

// Two threads do the same update, and neither of the two accesses is part of anything else.
std::optional<Update> same_update(const RacingPair& p) {
  const auto mine = update_of(p.program, p.mine), theirs = update_of(p.program, p.theirs);
  if (!mine || !theirs) return std::nullopt;
  return is_one_line(p.program, mine->store, theirs->store) ? mine : std::nullopt;
}

RaceAdvice atomic_update(const std::string& function) {
  return {
      "one of the two updates is lost; use " + (function.empty() ? "an atomic operation" : function),
      "`x += 1` is three steps, and other threads come between. An atomic function (atomicAdd, atomicMin, "
      "atomicCAS, ...) makes them one."};
}

std::string lost_element(const std::string& function) {
  return "one of the two updates is lost; the two threads have the same element" +
         (function.empty() ? "" : ", or they shall add up: then use " + function);
}

// Threads of different blocks update one element, though the element goes by the thread.
RaceAdvice element_of_two_blocks(const AddressShape& shape, const std::string& function) {
  const std::string lost = lost_element(function);
  if (shape.by_block && shape.steps_within_block) {
    return {
        lost,
        "The loop's step leaves out the other blocks, so each element is reached by several of them. In a "
        "grid-stride loop the step is blockDim.x * gridDim.x; a step of blockDim.x is right for one block "
        "alone."};
  }
  if (shape.by_block) {
    return {lost, "The parts of two blocks overlap. Look at how the index is computed from blockIdx: " +
                      std::string(kOwnElement) + "."};
  }
  const std::string no_block = "The index does not name the block, so every block uses the same elements: ";
  if (function.empty()) return {lost, no_block + kOwnElement + ", and the array is as long as the grid."};
  return {lost,
          no_block + kOwnElement + ". Where the blocks' values shall come together, use " + function + "."};
}

// Threads of different warps meet at one element, since both indices name the lane alone.
bool goes_by_lane(const RacingPair& p) {
  const auto by_lane = [&](uint32_t k) {
    const AddressShape shape = address_shape(p.program, k);
    return shape.by_lane && !shape.by_data;
  };
  return p.relation == Relation::same_block && by_lane(p.mine) && by_lane(p.theirs);
}

constexpr const char* kLaneAlone =
    "The index names the lane alone (threadIdx.x % 32), so all warps of the block use the same elements. Let "
    "it name the warp as well (threadIdx.x / 32), or let one warp do this.";

std::optional<RaceAdvice> advice_for_update(const RacingPair& p) {
  const auto update = same_update(p);
  if (!update) return std::nullopt;
  const AddressShape shape = address_shape(p.program, p.mine);
  const bool goes_by_thread = shape.by_thread && !shape.by_data;
  if (goes_by_thread && p.relation == Relation::other_block)
    return element_of_two_blocks(shape, update->atomic_name);
  if (goes_by_lane(p)) return RaceAdvice{lost_element(update->atomic_name), kLaneAlone};
  // An element of the thread's own that is set anew, as two threads do that exchange theirs.
  if (goes_by_thread && update->atomic_name.empty()) return std::nullopt;
  return atomic_update(update->atomic_name);
}

// One block writes and then counts itself as done; another reads when the counter says so. No fence keeps
// write and count in their order.
bool counts_without_fence(const RacingPair& p) {
  if (!is_plain_load(p.program, p.mine) || is_plain_load(p.program, p.theirs) ||
      is_atomic_access(p.program, p.theirs))
    return false;
  for (uint32_t k = p.theirs + 1; k < p.mine; ++k) {
    if (is_fence_at(p.program, k)) return false;
    if (is_atomic_access(p.program, k) && p.program.code[k].space != Space::shared) return true;
  }
  return false;
}

std::string between_blocks(const RacingPair& p) {
  if (counts_without_fence(p) || counts_without_fence({p.program, p.theirs, p.mine, p.relation, p.space})) {
    return "The atomic counter does not keep the order of the writes before it. Put __threadfence() between "
           "the write and the atomic operation that tells of it, and again before the last block reads.";
  }
  const bool reads = is_plain_load(p.program, p.mine) || is_plain_load(p.program, p.theirs);
  const bool atomics = is_atomic_access(p.program, p.mine) || is_atomic_access(p.program, p.theirs);
  const AddressShape mine = address_shape(p.program, p.mine), theirs = address_shape(p.program, p.theirs);
  if (reads && !atomics) {
    return "Blocks run in any order and at the same time, and no barrier holds for all of them. Read from "
           "one array and write to another, or split the work into two kernels: a kernel begins when the one "
           "before it has ended.";
  }
  if (!atomics && mine.by_thread && !mine.by_block && !mine.by_data && !theirs.by_block) {
    return "The index does not name the block, so every block writes the same elements: " +
           std::string(kOwnElement) + ".";
  }
  return "Blocks run in any order and at the same time: use an atomic operation, give each block its own "
         "output, or split the work into two kernels.";
}

bool is_plain_store(const Program& program, uint32_t k) {
  return !is_atomic_access(program, k) && !is_plain_load(program, k);
}

// Both addresses are the same for all threads.
bool is_one_element(const RacingPair& p) {
  const auto is_constant = [](const AddressShape& shape) { return !shape.by_thread && !shape.by_data; };
  return is_constant(address_shape(p.program, p.mine)) && is_constant(address_shape(p.program, p.theirs));
}

// `a[i] = f(a[i - 1], a[i + 1])`: each thread has an element of its own, and reads another's as well.
bool reads_a_neighbour(const RacingPair& p) {
  const auto goes_by_thread = [](const AddressShape& shape) { return shape.by_thread && !shape.by_data; };
  const bool reads_and_writes = (is_plain_load(p.program, p.mine) && is_plain_store(p.program, p.theirs)) ||
                                (is_plain_store(p.program, p.mine) && is_plain_load(p.program, p.theirs));
  return p.space == Space::global && reads_and_writes && goes_by_thread(address_shape(p.program, p.mine)) &&
         goes_by_thread(address_shape(p.program, p.theirs));
}

std::string cure_for(const RacingPair& p) {
  const bool are_stores = is_plain_store(p.program, p.mine) && is_plain_store(p.program, p.theirs);
  if (p.relation != Relation::other_block && are_stores && is_one_element(p)) {
    return "All threads write this one element. Let one thread do it (`if (threadIdx.x == 0)`), give each "
           "thread its own element, or join their values with an atomic operation.";
  }
  // Where one line writes and another reads, a barrier may be all that is missing.
  if ((are_stores || is_one_line(p.program, p.mine, p.theirs)) && goes_by_lane(p)) return kLaneAlone;
  if (p.relation != Relation::other_block && reads_a_neighbour(p)) {
    return "A thread reads an element that its neighbour writes, and threads do not run in step. Read from "
           "one array and write to another; within one block __syncthreads() between reading and writing "
           "is enough.";
  }
  switch (p.relation) {
    case Relation::same_instruction:
      return "Lanes of one warp write different values to one place: give each its own index, or use an "
             "atomic operation.";
    case Relation::same_warp:
      return "Lanes of a warp do not run in step: put __syncwarp() between writing and reading what another "
             "lane wrote, or __syncthreads() where threads of other warps use it as well (or a shuffle "
             "instead of memory).";
    case Relation::same_block:
      return p.space == Space::shared
                 ? "Put __syncthreads() between the two, reached by every thread of the block; in a loop "
                   "there must be one before the memory is reused, too."
                 : "Put __syncthreads() between the two, or use an atomic operation.";
    case Relation::other_block:
      break;
  }
  return between_blocks(p);
}

}  // namespace

RaceAdvice race_advice(const RacingPair& pair) {
  if (pair.relation == Relation::other_block && pair.program.orders_blocks)
    return {"", pair.learned_without_fence ? kFenceBehind : kFenceBetween};
  if (auto update = advice_for_update(pair)) return *update;
  return {"", cure_for(pair)};
}

}  // namespace warpgrade::emu
