#include "program/block_meetings.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostOfAWait = 40;  // instructions of a loop that does nothing but wait

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

// A loop around the instruction that does nothing else than ask by it.
bool is_waited_for(const Program& program, uint32_t instruction) {
  const auto count = static_cast<uint32_t>(program.code.size());
  for (uint32_t k = instruction + 1; k < std::min(count, instruction + kMostOfAWait); ++k) {
    if (!is_jump_back(program, k) || program.code[k].target > instruction) continue;
    bool only_waits = true;
    for (uint32_t at = program.code[k].target; at < k; ++at) {
      const std::string& text = program.texts[at];
      only_waits &= at == instruction || !has_sign(text.substr(0, 4), {"st.", "red.", "bar", "atom"});
    }
    if (only_waits) return true;
  }
  return false;
}

// What is taken here is given back by an exchange further down.
bool is_given_back(const Program& program, uint32_t instruction) {
  const Inst& taken = program.code[instruction];
  for (uint32_t k = instruction + 1; k < program.code.size(); ++k) {
    const Inst& other = program.code[k];
    if (program.texts[k].starts_with("atom") && has_sign(program.texts[k], {".exch"}) && other.a == taken.a &&
        other.imm == taken.imm && other.space == taken.space)
      return true;
  }
  return false;
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
  if (!has_sign(text, {".cas"})) return Meeting::here;
  return is_waited_for(program, k) || is_given_back(program, k) ? Meeting::here : Meeting::unknown;
}

bool is_lock(const Program& program, uint32_t k) {
  const std::string& text = program.texts[k];
  if (program.code[k].category != Category::atomic || has_sign(text, {".shared"})) return false;
  return has_sign(text, {".cas", ".exch"}) && (is_waited_for(program, k) || is_given_back(program, k));
}

}  // namespace

uint32_t first_block_meeting(const Program& program) {
  const auto count = static_cast<uint32_t>(program.code.size());
  uint32_t first_lock = Program::kNeverMeets, first = Program::kNeverMeets;
  for (uint32_t k = count; k-- > 0;) first_lock = is_lock(program, k) ? k : first_lock;
  for (uint32_t k = count; k-- > 0;) {
    const Meeting meeting = meeting_of(program, k, first_lock != Program::kNeverMeets);
    if (meeting == Meeting::unknown) return Program::kNeverMeets;
    if (meeting == Meeting::here) first = k;
  }
  return std::min(first, first_lock);
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
