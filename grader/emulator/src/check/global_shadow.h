// What racecheck remembers of global memory: the last write and the last read of each word of an allocation that
// kernels write. Where a warp reads or writes side by side, which is the rule, one stamp stands for eight words.
#pragma once
#include <cstddef>
#include <cstdint>

namespace warpgrade::emu {

// One access of a word: by whom, when in its block's time, in which block and launch, which of its four
// bytes. Workers write these without locks; a torn record mixes two accesses of one launch, either of which
// is the other party of the race.
struct alignas(16) GlobalStamp {
  uint32_t when = 0, whom = 0;
  uint32_t block = 0, launch_and_bytes = 0;

  uint32_t launch() const { return launch_and_bytes >> 4; }
  uint32_t bytes() const { return launch_and_bytes & 15; }
};

// The stamps of one kind of access. A group is eight words that begin at a multiple of eight. Its stamp is of an
// earlier launch, when nothing in it was accessed since; or whole: it tells of all its words; or open: each word
// has its own.
class Stamps {
 public:
  static constexpr uint32_t kGroup = 8;

  Stamps() = default;
  Stamps(GlobalStamp* words, GlobalStamp* groups) : words_(words), groups_(groups) {}

  // What is known of a word, in this launch.
  GlobalStamp at(uint64_t word, uint32_t launch) const {
    GlobalStamp group = groups_[word / kGroup];
    if (group.launch() != launch) return {};
    if (words_a_lane(group) == 0) return words_[word];
    group.whom += static_cast<uint32_t>(word % kGroup) / words_a_lane(group);
    group.launch_and_bytes |= 15;
    return group;
  }

  bool is_whole(uint64_t group, uint32_t launch) const {
    return groups_[group].launch() == launch && words_a_lane(groups_[group]) != 0;
  }
  bool any_whole(uint64_t first_word, uint32_t words, uint32_t launch) const {
    bool any = false;
    for (uint64_t g = first_word / kGroup; g <= (first_word + words - 1) / kGroup; ++g)
      any |= is_whole(g, launch);
    return any;
  }
  GlobalStamp* groups() const { return groups_; }

  // The stamp of a group whose lanes access so many words each, from that of its first lane.
  static GlobalStamp whole(GlobalStamp stamp, uint32_t words_a_lane) {
    stamp.launch_and_bytes = (stamp.launch_and_bytes & ~15u) | words_a_lane;
    return stamp;
  }

  // A group that nobody has accessed in this launch gets the stamp. False: somebody was first. Workers may come at once:
  // the half with block and launch decides.
  bool claim(uint64_t group, uint32_t launch, const GlobalStamp& stamp) const {
    static_assert(offsetof(GlobalStamp, block) % sizeof(uint64_t) == 0);
    GlobalStamp& of_group = groups_[group];
    auto* half = reinterpret_cast<uint64_t*>(&of_group.block);
    uint64_t seen = __atomic_load_n(half, __ATOMIC_ACQUIRE), claimed;
    if (seen >> 36 == launch) return false;
    __builtin_memcpy(&claimed, &stamp.block, sizeof claimed);
    if (!__atomic_compare_exchange_n(half, &seen, claimed, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return false;
    of_group.when = stamp.when;
    of_group.whom = stamp.whom;
    return true;
  }

  // A word's own stamp, to be read or written: its group is opened.
  GlobalStamp& open(uint64_t word, uint32_t launch) const {
    open_group(word / kGroup, launch);
    return words_[word];
  }
  // Those of many words.
  GlobalStamp* open(uint64_t first_word, uint32_t words, uint32_t launch) const {
    for (uint64_t g = first_word / kGroup; g <= (first_word + words - 1) / kGroup; ++g) open_group(g, launch);
    return words_ + first_word;
  }
  const GlobalStamp* words() const { return words_; }

  void forget(uint64_t first_word, uint64_t words, uint32_t launch) const;

 private:
  static uint32_t words_a_lane(const GlobalStamp& group) { return group.launch_and_bytes & 15; }

  void open_group(uint64_t group, uint32_t launch) const {
    const GlobalStamp opened = {0, 0, 0, launch << 4};
    if (claim(group, launch, opened) || words_a_lane(groups_[group]) == 0) return;
    for (uint32_t k = 0; k < kGroup; ++k) words_[group * kGroup + k] = at(group * kGroup + k, launch);
    groups_[group] = opened;
  }

  GlobalStamp *words_ = nullptr, *groups_ = nullptr;
};

class GlobalShadow {
 public:
  explicit GlobalShadow(uint64_t bytes);
  ~GlobalShadow();
  GlobalShadow(const GlobalShadow&) = delete;
  GlobalShadow& operator=(const GlobalShadow&) = delete;

  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of an allocation that is followed

  Stamps writes, reads;

 private:
  uint64_t stamps_;
  GlobalStamp* memory_;  // zero pages until they are touched
};

}  // namespace warpgrade::emu
