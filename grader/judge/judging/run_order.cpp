#include "judge/judging/run_order.h"

#include <algorithm>

#include "judge/measure/random.h"

namespace warpgrade {
namespace {

constexpr int kCloselyOf = 4;    // timed pairs of which one is checked more closely
constexpr int kLastReplan = 30;  // so that most timed phases come to it
constexpr int kMostReplans = 2;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int below(int limit) {
    return static_cast<int>(random_bits(seed_, count_++) % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t seed_, count_ = 0;
};

}  // namespace

int RunOrder::checked_runs() const {
  int runs = 0;
  for (const PlannedRuns& plan : plans) runs += plan.before + plan.after;
  return runs;
}

std::string RunOrder::text() const {
  std::string text;
  for (const PlannedRuns& plan : plans) {
    text += text.empty() ? "plan" : " | plan";
    for (int run = 0; run < plan.before; ++run) text += " run";
    if (plan.timed) text += " timed";
    for (int run = 0; run < plan.after; ++run) text += " run";
  }
  return text;
}

RunOrder draw_run_order(std::uint64_t seed, int least, bool timed) {
  Draws draws(seed);
  const int runs = least + (timed && draws.below(4) == 0 ? 1 : 0);
  int plans = runs < 3 ? 1 : 2;
  if (runs >= 4 && draws.below(2) == 0) plans = 3;
  // A run for each plan, a second one for one of them, the rest anywhere.
  std::vector<int> runs_of(static_cast<std::size_t>(plans), 1);
  for (int left = runs - plans; left > 0; --left) ++runs_of[static_cast<std::size_t>(draws.below(plans))];
  RunOrder order;
  for (const int of_plan : runs_of) order.plans.push_back({of_plan, false, 0});
  if (!timed) return order;
  const int chosen = draws.below(plans);
  PlannedRuns& plan = order.plans[static_cast<std::size_t>(chosen)];
  plan.timed = true;
  const int least_before = chosen == 0 ? 1 : 0;
  plan.after = draws.below(plan.before - least_before + 1);
  plan.before -= plan.after;
  for (int replan = draws.below(kMostReplans + 1); replan > 0; --replan)
    order.replans.push_back(1 + draws.below(kLastReplan));
  std::sort(order.replans.begin(), order.replans.end());
  order.replans.erase(std::unique(order.replans.begin(), order.replans.end()), order.replans.end());
  return order;
}

bool is_checked_closely(std::uint64_t seed, int pair) {
  const auto four = static_cast<std::uint64_t>(pair / kCloselyOf);
  return random_bits(seed, four) % kCloselyOf == static_cast<std::uint64_t>(pair % kCloselyOf);
}

}  // namespace warpgrade
