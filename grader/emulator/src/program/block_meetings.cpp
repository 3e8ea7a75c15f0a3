#include "program/block_meetings.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostOfAWait = 40;    // instructions of a loop that does nothing but wait
constexpr uint32_t kMostMoves = 4;       // of a value in a loop
constexpr uint32_t kMostToCompare = 12;  // instructions between a counter and the comparison of its value

bool has_sign(const std::string& text, std::initializer_list<const char*> signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

bool is_fence_text(const std::string& text) {
  return text.starts_with("membar") || text.starts_with("fence");
}

bool is_jump_back(const Program& program, uint32_t k) {
  return program.texts[k].starts_with("bra") && program.code[k].target <= k;
}

// The jump back of a loop around the instruction that does nothing else than ask by it.
std::optional<uint32_t> end_of_wait(const Program& program, uint32_t instruction) {
  const auto count = static_cast<uint32_t>(program.code.size());
  for (uint32_t k = instruction + 1; k < std::min(count, instruction + kMostOfAWait); ++k) {
    if (!is_jump_back(program, k) || program.code[k].target > instruction) continue;
    bool only_waits = true;
    for (uint32_t at = program.code[k].target; at < k; ++at) {
      const std::string& text = program.texts[at];
      only_waits &= at == instruction || !has_sign(text.substr(0, 4), {"st.", "red.", "bar", "atom"});
    }
    if (only_waits) return k;
  }
  return std::nullopt;
}

bool is_waited_for(const Program& program, uint32_t instruction) {
  return end_of_wait(program, instruction).has_value();
}

bool is_of_device(const Program& program, uint32_t k) {
  return program.code[k].category == Category::atomic && !has_sign(program.texts[k], {".shared"});
}

bool is_same_place(const Inst& one, const Inst& other) {
  return one.a == other.a && one.imm == other.imm && one.space == other.space;
}

// What is taken here is given back by an exchange further down.
bool is_given_back(const Program& program, uint32_t instruction) {
  for (uint32_t k = instruction + 1; k < program.code.size(); ++k) {
    if (program.texts[k].starts_with("atom") && has_sign(program.texts[k], {".exch"}) &&
        is_same_place(program.code[k], program.code[instruction]))
      return true;
  }
  return false;
}

// The loop around a compare-and-swap computes what it compares with: an update, and no lock.
bool is_update(const Program& program, uint32_t instruction, uint32_t jump) {
  if (!has_sign(program.texts[instruction], {".cas"})) return false;
  const auto sets = [&](uint32_t k, uint32_t slot) {
    const Inst& i = program.code[k];
    return !program.texts[k].starts_with("st") && (i.d == slot || i.vec[0] == slot);
  };
  uint32_t value = program.code[instruction].b;
  for (uint32_t moves = 0; moves < kMostMoves; ++moves) {
    uint32_t k = program.code[jump].target;
    while (k < jump && !sets(k, value)) ++k;
    if (k == jump) return false;
    if (!program.texts[k].starts_with("mov")) return true;
    value = program.code[k].a;
  }
  return true;
}

bool is_lock(const Program& program, uint32_t k) {
  if (!is_of_device(program, k) || !has_sign(program.texts[k], {".cas", ".exch"})) return false;
  return is_waited_for(program, k) || is_given_back(program, k);
}

// A lock, and not an exchange that gives one back, nor a loop that updates.
bool takes_lock(const Program& program, uint32_t k) {
  if (!is_of_device(program, k) || !has_sign(program.texts[k], {".cas", ".exch"})) return false;
  if (const auto jump = end_of_wait(program, k)) return !is_update(program, k, *jump);
  return has_sign(program.texts[k], {".cas"}) && is_given_back(program, k);
}

// Where a lock that is taken here is given back: by an exchange, a compare-and-swap or a store.
std::optional<uint32_t> gives_back(const Program& program, uint32_t taken) {
  for (uint32_t k = taken + 1; k < program.code.size(); ++k) {
    const std::string& text = program.texts[k];
    if (!is_same_place(program.code[k], program.code[taken]) || is_waited_for(program, k)) continue;
    if (text.starts_with("st") || (text.starts_with("atom") && has_sign(text, {".exch", ".cas"}))) return k;
  }
  return std::nullopt;
}

// Who comes last goes on: the value that a counter had is compared for equality, soon and by the same thread.
bool counts_to_the_last(const Program& program, uint32_t instruction) {
  const std::string& counter = program.texts[instruction];
  if (!is_of_device(program, instruction) || !counter.starts_with("atom") ||
      has_sign(counter, {".cas", ".exch"}))
    return false;
  const auto end = std::min(static_cast<uint32_t>(program.code.size()), instruction + 1 + kMostToCompare);
  uint32_t value = program.code[instruction].d;
  for (uint32_t k = instruction + 1; k < end; ++k) {
    const Inst& i = program.code[k];
    const bool uses = i.a == value || i.b == value;
    if (uses && has_sign(program.texts[k], {"setp.eq", "setp.ne"})) return true;
    if (uses && has_sign(program.texts[k].substr(0, 4), {"add.", "sub."})) value = i.d;
  }
  return false;
}

std::vector<uint8_t> block_roles(const Program& program) {
  const auto count = static_cast<uint32_t>(program.code.size());
  std::vector<uint8_t> roles(count);
  for (uint32_t k = 0; k < count; ++k) {
    const std::string& text = program.texts[k];
    const bool polls =
        text.starts_with("ld") && !has_sign(text, {".shared"}) && has_sign(text, {"volatile", "relaxed"});
    const bool asks = polls || (is_of_device(program, k) && !has_sign(text, {".cas", ".exch"}));
    if (asks && is_waited_for(program, k)) {
      roles[k] |= kLearnsByWaiting;
    } else if (counts_to_the_last(program, k)) {
      roles[k] |= kLearnsByCounting;
    }
    if (!takes_lock(program, k)) continue;
    roles[k] |= kLearnsByWaiting;
    const auto back = gives_back(program, k);
    if (!back) continue;
    roles[*back] |= kGivesLockBack;
    for (uint32_t within = k + 1; within < *back; ++within) roles[within] |= kWithinLock;
  }
  return roles;
}

enum class Meeting { none, here, unknown };

Meeting meeting_of(const Program& program, uint32_t k, bool has_lock) {
  const std::string& text = program.texts[k];
  if (has_sign(text, {".cluster", "::cluster", "fence.proxy"})) return Meeting::unknown;
  if (is_fence_text(text) || has_sign(text, {".shared"})) return Meeting::none;
  if (has_sign(text, {"acquire", "release", ".acq_rel", "mbarrier"})) return Meeting::unknown;
  if (program.code[k].category != Category::atomic) {
    const bool polls = text.starts_with("ld") && has_sign(text, {"volatile", "relaxed"});
    return polls && is_waited_for(program, k) ? Meeting::here : Meeting::none;
  }
  if (has_sign(text, {".exch"})) return has_lock ? Meeting::none : Meeting::unknown;
  if (!has_sign(text, {".cas"}) || (program.block_roles[k] & kGivesLockBack)) return Meeting::here;
  return is_waited_for(program, k) || is_given_back(program, k) ? Meeting::here : Meeting::unknown;
}

}  // namespace

void note_block_meetings(Program& program) {
  const auto count = static_cast<uint32_t>(program.code.size());
  program.block_roles = block_roles(program);
  uint32_t first_lock = Program::kNeverMeets, first = Program::kNeverMeets;
  for (uint32_t k = count; k-- > 0;) first_lock = is_lock(program, k) ? k : first_lock;
  for (uint32_t k = count; k-- > 0;) {
    const Meeting meeting = meeting_of(program, k, first_lock != Program::kNeverMeets);
    if (meeting == Meeting::unknown) return;
    if (meeting == Meeting::here) first = k;
  }
  program.blocks_meet_at = std::min(first, first_lock);
}

bool may_poll(const Program& program, uint32_t instruction) {
  for (uint32_t k = instruction + 1; k < program.code.size(); ++k) {
    if (!is_jump_back(program, k) || program.code[k].target > instruction) continue;
    for (uint32_t at = program.code[k].target; at < k; ++at) {
      const std::string& text = program.texts[at];
      if (is_fence_text(text) || text.starts_with("bar")) return true;
    }
  }
  return false;
}

}  // namespace warpgrade::emu
