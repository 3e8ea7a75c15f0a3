#include "check/address_shape.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "program/program.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostLookedAt = 200;
constexpr uint32_t kMostToCall = 16;  // instructions between a load of a function and its call

bool loads_memory(const Program& program, uint32_t k) {
  return program.texts[k].starts_with("ld");
}

bool sets_slot(const Program& program, uint32_t k, uint32_t slot) {
  const Inst& i = program.code[k];
  if (!loads_memory(program, k)) return i.d == slot && !program.texts[k].starts_with("st");
  return std::find(i.vec, i.vec + i.vec_count, slot) != i.vec + i.vec_count;
}

// Where a register was set, looking back from an instruction.
std::optional<uint32_t> slot_definition(const Program& program, uint32_t slot, uint32_t before) {
  for (uint32_t k = before; k-- > 0;) {
    if (sets_slot(program, k, slot)) return k;
  }
  return std::nullopt;
}

std::optional<Special> special_at(const Program& program, uint32_t slot) {
  for (const auto* all : {&program.warp_specials, &program.block_specials}) {
    for (const SpecialRegister& one : *all) {
      if (one.slot == slot) return one.what;
    }
  }
  return std::nullopt;
}

struct AddressParts {
  bool thread = false, lane = false, block = false, grid = false, data = false;
  std::set<uint32_t> slots;

  // `in_warp`: what is left of it when it was divided by a warp's threads.
  void add(Special what, bool in_warp) {
    lane |= what == Special::laneid || (what == Special::tid_x && in_warp);
    thread |= (what == Special::tid_x && !in_warp) || what == Special::tid_y || what == Special::tid_z ||
              what == Special::warpid;
    block |= what == Special::ctaid_x || what == Special::ctaid_y || what == Special::ctaid_z;
    grid |= what == Special::nctaid_x || what == Special::nctaid_y || what == Special::nctaid_z;
  }
};

// The constant that an instruction keeps bits by; 0: it does no such thing.
uint32_t mask_at(const Program& program, uint32_t k) {
  const Inst& i = program.code[k];
  if (!program.texts[k].starts_with("and")) return 0;
  for (const ConstantRegister& one : program.constants) {
    if (one.slot == i.a || one.slot == i.b) return static_cast<uint32_t>(one.bits);
  }
  return 0;
}

// `x % 32`, as compilers write it, perhaps of x times an element's size: the last five bits; of signed numbers x less
// what is left of it without these.
bool keeps_the_lane(const Program& program, uint32_t k) {
  const uint32_t mask = mask_at(program, k);
  if (mask != 0 && mask >> __builtin_ctz(mask) == kLanes - 1) return true;
  if (!program.texts[k].starts_with("sub")) return false;
  const auto whole_warps = slot_definition(program, program.code[k].b, k);
  return whole_warps && mask_at(program, *whole_warps) % (2 * kLanes) == kLanes;
}

// Everything that a register is computed from, given the instructions before `before`.
AddressParts address_parts(const Program& program, uint32_t slot, uint32_t before) {
  AddressParts parts;
  struct Wanted {
    uint32_t slot, before;
    bool in_warp;
  };
  std::vector<Wanted> left{{slot, before, false}};
  std::set<std::tuple<uint32_t, uint32_t, bool>> seen;
  while (!left.empty() && seen.size() < kMostLookedAt) {
    const auto [wanted, end, in_warp] = left.back();
    left.pop_back();
    if (const auto special = special_at(program, wanted)) parts.add(*special, in_warp);
    const auto at = slot_definition(program, wanted, end);
    if (!at || !seen.insert({wanted, *at, in_warp}).second) continue;
    parts.slots.insert(wanted);
    const Inst& i = program.code[*at];
    if (loads_memory(program, *at)) {
      parts.data |= !program.texts[*at].starts_with("ld.param") && i.space != Space::local;
      continue;
    }
    if (i.category != Category::other && i.category != Category::arithmetic) continue;
    for (const uint32_t source : {i.a, i.b, i.c}) {
      if (source != kNoSlot && source != kAlwaysSlot)
        left.push_back({source, *at, in_warp || keeps_the_lane(program, *at)});
    }
  }
  return parts;
}

// `x += step` of a register that the address is computed from, behind the access and in its loop.
bool steps_without_grid(const Program& program, uint32_t instruction, const AddressParts& address) {
  const auto count = static_cast<uint32_t>(program.code.size());
  for (uint32_t k = instruction + 1; k < count; ++k) {
    const Inst& i = program.code[k];
    const bool adds =
        program.texts[k].starts_with("add") && address.slots.contains(i.d) && (i.a == i.d || i.b == i.d);
    if (!adds) continue;
    if (!address_parts(program, i.a == i.d ? i.b : i.a, k).grid) return true;
  }
  return false;
}

}  // namespace

AddressShape address_shape(const Program& program, uint32_t instruction) {
  const AddressParts parts = address_parts(program, program.code[instruction].a, instruction);
  return {parts.thread || parts.lane, parts.lane && !parts.thread, parts.block, parts.data,
          steps_without_grid(program, instruction, parts)};
}

bool loads_function(const Program& program, uint32_t instruction) {
  if (!loads_memory(program, instruction)) return false;
  const uint32_t value = program.code[instruction].vec[0];
  const auto end = std::min(static_cast<uint32_t>(program.code.size()), instruction + kMostToCall);
  for (uint32_t k = instruction + 1; k < end; ++k) {
    if (program.texts[k] == "call.indirect") return program.code[k].a == value;
    if (sets_slot(program, k, value)) return false;
  }
  return false;
}

}  // namespace warpgrade::emu
