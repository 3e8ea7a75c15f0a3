// Seeded random kernels in PTX: arithmetic of all plain types, predicates, branches and loops in which lanes
// part and meet, shuffles, shared and global memory by rows, strides and indices, atomics.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace warpgrade::emu {

inline constexpr uint32_t kInputWords = 4096, kOutputWordsAThread = 24, kSharedWords = 512;

// .visible .entry NAME(.param .u64 NAME_in, .param .u64 NAME_out, .param .u64 NAME_pool, .param .u32 NAME_n):
// `in` and `pool` have kInputWords words, `out` has kOutputWordsAThread for each thread of the grid.
class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed) : draw_(seed) {}
  std::string text(const std::string& name);

 private:
  static constexpr int kInts = 10, kWides = 5, kFloats = 6, kDoubles = 3, kPredicates = 4;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(draw_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(words.size()));
  }
  std::string reg(const char* kind, int count) { return kind + std::to_string(below(count)); }
  std::string r() { return reg("%r", kInts); }
  std::string rd() { return reg("%rd", kWides); }
  std::string f() { return reg("%f", kFloats); }
  std::string fd() { return reg("%fd", kDoubles); }
  std::string p() { return reg("%p", kPredicates); }
  // A source: a register or a constant.
  std::string ri() { return chance(70) ? r() : std::to_string(constant()); }
  int64_t constant();
  void line(const std::string& instruction);
  void guarded(const std::string& instruction);
  void statement(int depth);
  void integer();
  void wide();
  void floating();
  void doubles();
  void conversion();
  void compare();
  void select();
  void shuffle();
  void shared_access();
  void global_access();
  void atomic();
  void branch(int depth);
  void loop(int depth);
  void global_address(uint32_t words = 1);

  std::mt19937_64 draw_;
  std::string body_;
  int lines_ = 0, labels_ = 0, loops_ = 0;
  bool together_ = true;  // all lanes of the block come by
  bool narrow_ = false;   // bytes of shared memory are stored, so that checks follow bytes
};

}  // namespace warpgrade::emu
