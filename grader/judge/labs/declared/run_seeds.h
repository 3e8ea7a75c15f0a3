// The seeds of a declared lab's case. They follow from the run's hidden seed and the place alone, not from
// the submission: every submission of a run gets the same inputs, and what the oracle answered for one is
// right for all. Nobody can tell them from another run's, and no submission can tell another one of its run.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace warpgrade::declared {

// Which inputs a run of this seed has: 0 the case's own, k the lab's k-th hard ones. It is the seed's last
// byte, so that everybody who draws a run draws the same.
inline int inputs_of(std::uint64_t run_seed) {
  return static_cast<int>(run_seed & 0xff);
}
inline std::uint64_t with_inputs(std::uint64_t run_seed, int inputs) {
  return (run_seed & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(inputs);
}

class RunSeeds {
 public:
  static constexpr int kHardOneOf = 3;  // timed repetitions

  // `hard`: how many hard inputs the lab has.
  RunSeeds(const std::string& run_seed, const std::string& case_id, int hard)
      : of_case_(Sha256().part(run_seed).part("declared").part(case_id).hex()), hard_(hard) {}

  // Numbers from 1 on. A plan's seed and a run's are counted apart, and those of checked runs and of
  // repetitions: what is prepared ahead, and how many repetitions there were, changes none.
  std::uint64_t plan(int number) const { return seed("plan", number); }
  std::uint64_t check(int number) const {
    return with_inputs(seed("check", number), inputs_of_check(number));
  }
  std::uint64_t repetition(int number) const {
    return with_inputs(seed("repetition", number), inputs_of_repetition(number));
  }
  std::uint64_t show() const { return with_inputs(seed("show", 0), 0); }
  std::uint64_t order() const { return seed("order", 0); }
  std::uint64_t oracles_repetition() const { return seed("oracle's repetition", 0); }

 private:
  std::uint64_t seed(const char* purpose, int number) const {
    return Sha256().part(of_case_).part(purpose).part(std::to_string(number)).number();
  }

  // Of as many checked runs in a row as there are kinds of inputs, each has another kind.
  int inputs_of_check(int number) const {
    const int kinds = hard_ + 1;
    return drawn_order("inputs", (number - 1) / kinds, kinds)[static_cast<std::size_t>((number - 1) % kinds)];
  }

  // The first repetition, of which no time counts, has the case's own inputs. Of each three that follow, one has hard
  // ones, each kind in its turn: times of two runs are of the same mixture, and most of it is the case's own.
  int inputs_of_repetition(int number) const {
    if (hard_ == 0 || number < 2) return 0;
    const int three = (number - 2) / kHardOneOf;
    const auto place = seed("stratum", three) % static_cast<unsigned>(kHardOneOf);
    if (static_cast<unsigned>((number - 2) % kHardOneOf) != place) return 0;
    return 1 + drawn_order("hard", three / hard_, hard_)[static_cast<std::size_t>(three % hard_)];
  }

  // 0 to count - 1 in an order that is drawn (R. Durstenfeld 1964).
  std::vector<int> drawn_order(const char* purpose, int turn, int count) const {
    std::vector<int> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    for (int left = count; left > 1; --left) {
      const auto chosen = seed(purpose, turn * count + left) % static_cast<std::uint64_t>(left);
      std::swap(order[static_cast<std::size_t>(left - 1)], order[chosen]);
    }
    return order;
  }

  std::string of_case_;
  int hard_;
};

}  // namespace warpgrade::declared
