// The bounds that memory and its levels set, shared memory and atomics among them.
#include <algorithm>
#include <cmath>

#include "course/profile/launch_bounds.h"
#include "course/profile/launch_constants.h"

namespace warpgrade {

// Sectors that lanes load: as they are, or as neighbouring lanes could ask for them.
double LaunchBounds::load_sectors() const {
  return launch_.cost("global_load_sectors", launch_.cured(Cure::coalescing));
}

double LaunchBounds::results() const {
  return launch_.cost("global_store_sectors", launch_.cured(Cure::coalescing));
}

// Equal work comes from cutting what is long, and the pieces of a result are added up in global memory:
// what was stored is updated (`joined`), after it was filled with zeros.
double LaunchBounds::store_sectors() const {
  return launch_.cured(Cure::balance) ? 0 : results();
}

double LaunchBounds::joined() const {
  return launch_.cured(Cure::balance) ? results() : 0;
}

double LaunchBounds::missing_in_l1() const {
  const double sampled = launch_.total("sampled_loads");
  return sampled > 0 ? launch_.total("sampled_l1_misses") / sampled : 1;
}

double LaunchBounds::l2_loads() const {
  const double all = load_sectors() * missing_in_l1();
  return std::min(all, once() * load_sectors());
}

// Of the sectors that the second level is asked for, those that it does not hold.
double LaunchBounds::missing_in_l2() const {
  const double misses = launch_.total("sampled_l1_misses");
  return misses > 0 ? std::min(1.0, launch_.total("sampled_l2_read_misses") / misses) : 0;
}

// Of sectors that memory delivers, how many it moves: it reads pieces of 64 bytes. The other half of a piece
// is of use where requests want neighbouring sectors, or where in the end all bytes of a sector are wanted.
double LaunchBounds::pieces(double read) const {
  if (launch_.cured(Cure::coalescing) || read <= 0) return 1;
  const double wanted = std::min(1.0, launch_.get("global_load_sectors_ideal") / read);
  return 1 + (single_sectors() - 1) * (1 - wanted);
}

// What a sector costs where requests want only one or two of a line's four: up to twice as much, since the
// second level delivers pairs (`reread` of calibration/problems.cu: 158 G single sectors a second at 98 % of
// what it can do).
double LaunchBounds::single_sectors() const {
  const double lines = launch_.get("lines");
  if (launch_.cured(Cure::coalescing) || lines <= 0) return 1;
  return std::clamp(2 * lines / (launch_.get("global_load_sectors") + launch_.get("global_store_sectors")),
                    1.0, 2.0);
}

// Sectors that the second level takes from memory, and gives back to it.
double LaunchBounds::from_memory() const {
  double read = std::max(kSample * launch_.get("sampled_l2_read_misses"), 0.0);
  if (launch_.cured(Cure::reuse)) read = std::min(read, launch_.get("distinct_sectors_read"));
  return read + joined();  // an update reads what it adds to
}

double LaunchBounds::to_memory() const {
  return coefficient("write_back") * kSample * launch_.get("sampled_written_back");
}

double LaunchBounds::dram() const {
  return kMicro * kSectorBytes * (from_memory() * pieces(from_memory()) + to_memory()) /
         (device_.dram_bytes_per_s * coefficient("dram"));
}

// Contention is removed as if each block that is resident had counted in a copy of its own and added it
// once, where what is updated fits into shared memory; else as if each warp had added up first. What is
// left of the updates, and of their sectors.
bool LaunchBounds::fits_shared_memory() const {
  return launch_.get("distinct_sectors_written") * kSectorBytes <= device_.shared_per_block;
}

double LaunchBounds::left_of_updates() const {
  const double all = launch_.get("global_atomic_sectors");
  if (!launch_.cured(Cure::contention) || all <= 0) return 1;
  if (!fits_shared_memory()) return 1 / kLanes;
  return std::min(1 / kLanes, multiprocessors_ * resident_ * launch_.get("distinct_sectors_written") / all);
}

double LaunchBounds::updates() const {
  return left_of_updates() * launch_.get("global_atomic_sectors") + joined();
}

double LaunchBounds::update_rate() const {
  return device_.scattered_updates_per_s * coefficient("scattered");
}

// A sector that comes from memory is written into the second level before it is read, and half of them cross
// from its other half: streams keep it as busy as memory.
double LaunchBounds::l2() const {
  const double missed = from_memory();
  const double sectors = single_sectors() * std::max(0.0, l2_loads() - missed) +
                         coefficient("l2_store") * store_sectors() + coefficient("l2_atomic") * updates();
  const double moved = sectors / (device_.l2_bytes_per_s * coefficient("l2")) +
                       (missed + to_memory()) / device_.l2_fill_bytes_per_s;
  return kMicro * std::max(kSectorBytes * moved, partly_written() / update_rate());
}

// Sectors of which a request writes a part, in units of two words a sector. The second level reads, changes
// and writes them. On an H200 a sector takes as long as its words: 8 bytes of each of 29 G a second (`gcn`
// naive log-softmax and step 1 of X W, as many as it does updates), 4 bytes of each of 61 to 68 G a second
// (column_stores of calibration/problems.cu, `transpose` naive). More than two words of a sector are not
// told apart from two.
double LaunchBounds::partly_written() const {
  constexpr double kOfWhichLanesWriteAFifth = 1.25, kWords = 8;
  const double all = launch_.get("global_store_sectors"), ideal = launch_.get("global_store_sectors_ideal");
  if (launch_.cured(Cure::coalescing) || launch_.cured(Cure::balance)) return 0;  // balance: updates
  const double words = all > 0 ? std::clamp(kWords * ideal / all, 1.0, 2.0) : 1;
  return words / 2 * std::min(all, kOfWhichLanesWriteAFifth * (all - ideal));
}

// The part of the loads that is left where each value is read once. How lanes ask for it stays: what they
// waste of sectors is another problem, so that the sectors they could have asked for count here, not those
// they did. It is taken that all of a sector is wanted in the end.
double LaunchBounds::once() const {
  const double ideal = launch_.get("global_load_sectors_ideal");
  if (!launch_.cured(Cure::reuse) || ideal <= 0) return 1;
  return std::min(1.0, launch_.get("distinct_sectors_read") / ideal);
}

// What a cure leads through shared memory. With reuse: a value is written there once and read there by each
// request that loaded it. With coalesced accesses: what lanes waste of sectors is written and read in another
// order, without bank conflicts, which are another problem.
LaunchBounds::Staged LaunchBounds::staged() const {
  if (launch_.cured(Cure::reuse) && once() < 1) {
    const double requests = launch_.get("global_load_requests");
    return {once() * requests, requests};
  }
  Staged staged;
  if (!launch_.cured(Cure::coalescing)) return staged;
  for (const std::string what : {"global_load", "global_store"}) {
    const double all = launch_.cost(what + "_sectors", false), ideal = launch_.cost(what + "_sectors", true);
    if (all > ideal) staged.writes += (1 - ideal / all) * launch_.get((what + "_requests").c_str());
  }
  staged.reads = staged.writes;
  return staged;
}

// A line of 128 bytes is looked up in a clock.
double LaunchBounds::lines() const {
  // Counters of older versions have no lines; a request touches one at least.
  const double requests = launch_.get("global_load_requests") + launch_.get("global_store_requests");
  const double all = std::max(launch_.get("lines"), requests) * once();
  if (!launch_.cured(Cure::coalescing)) return all;
  return std::min(all, std::max(requests, (load_sectors() + store_sectors()) / 4));
}

double LaunchBounds::l1() const {
  return clocks(coefficient("l1_sector") * (load_sectors() * once() + store_sectors()) +
                coefficient("l1_line") * lines());
}

// Passes that atomics in shared memory take. Lanes of a warp that update one word are added up on the way
// where nobody asks for the old value: `histogram` last-bin takes 2 passes a request, not 32. Counters hold
// the turns of shared and global atomics together; those that may be global are not taken off.
double LaunchBounds::atomic_passes() const {
  const double passes = launch_.get("shared_atomic_passes"),
               ideal = launch_.get("shared_atomic_passes_ideal");
  const double global = launch_.get("global_atomic_lanes");
  const double same = launch_.get("atomic_turns") - launch_.get("shared_atomic_requests") - global;
  return std::max(ideal, passes - std::max(0.0, same));
}

double LaunchBounds::shared() const {
  const bool ideal = launch_.cured(Cure::bank_conflicts);
  // Updates in a block's own copy, without conflicts.
  const double moved_here =
      launch_.cured(Cure::contention) && fits_shared_memory() ? launch_.get("global_atomic_requests") : 0;
  const double passes = staged().writes + staged().reads + moved_here +
                        launch_.cost("shared_load_passes", ideal) +
                        launch_.cost("shared_store_passes", ideal) +
                        coefficient("shared_atomic") * (ideal || launch_.cured(Cure::contention)
                                                            ? launch_.get("shared_atomic_passes_ideal")
                                                            : atomic_passes());
  return clocks(coefficient("shared") * passes);
}

}  // namespace warpgrade
