// Who says what is right in the timed repetitions of a case. The oracle takes far longer than a run, and the
// main baseline's output of the same inputs is at hand: a program that gives the same is right, as far as the
// baseline is. So it answers where the oracle has accepted it, for this case, this kind of inputs and what the plan has seen. No
// verdict rests on it: where outputs differ, the oracle is asked about both; and in one repetition, which the
// hidden seed chooses, it always is.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>

#include "judge/labs/declared/case_arrays.h"
#include "judge/labs/declared/cell_work.h"

namespace warpgrade::declared {

// What the oracle found of an output that it accepted: the largest error over its bound, and the root mean
// square over its limit.
struct Held {
  double error_over_bound = 0, rms_over_limit = 0;
};

// Of outputs compared by the lab's check, with the baseline's or the oracle's taken for right.
struct OutputsCompared {
  bool same = true;
  double rms_over_limit = 0;    // of their differences; 0 where the check does not ask
  double error_over_bound = 0;  // the largest one
};

// How much of what a check allows is left for a program that is compared with an output held so: the
// baseline's own error is taken off, never added.
double share_left(const CellCheck& check, const Held& held);

class RepetitionTruth {
 public:
  enum class Source { kOracle, kBaseline };
  enum class Program { kSubmission, kBaseline };
  // So many repetitions of a case in which the outputs differed and both were right; then the oracle
  // answers all others.
  static constexpr int kMostAskedAgain = 3;

  // What was found of the baseline where it was accepted, by the kind of inputs.
  using HeldByKind = std::map<int, Held>;
  // `chosen`: the repetition that is the oracle's anyway. `held`: the baseline was accepted before, by this
  // judge, for this case and what its plan sees.
  RepetitionTruth(int chosen, HeldByKind held) : chosen_(chosen), held_(std::move(held)) {}

  Source source(int repetition, int kind) const;
  bool is_held(int kind) const { return held_.contains(kind); }
  Held held(int kind) const { return is_held(kind) ? held_.at(kind) : Held(); }
  // The oracle accepted the baseline's output.
  void hold(int kind, const Held& held);
  // The oracle has answered a repetition, for the submission; `with_baseline`: for both.
  void count_oracle(int repetition, bool with_baseline);
  // The oracle has not yet answered for both programs in the chosen repetition, or the one that took
  // its place.
  bool owes_oracle() const { return !both_answered_; }
  int chosen() const { return chosen_; }
  bool gave_up() const { return asked_again_ >= kMostAskedAgain; }

  // A repetition that the baseline answers is over: what is wrong with the submission's output; nothing: it
  // is right. `ask` looks at a program's output with the oracle, which is slow. Throws JudgeFault where the
  // baseline is wrong.
  using Finding = CaseArrays::Finding;
  using AskOracle = std::function<std::optional<Finding>(Program)>;
  using BaselineFault = std::function<void(const Finding&)>;  // throws JudgeFault
  std::optional<Finding> settle(int kind, const OutputsCompared& outputs, const AskOracle& ask,
                                const BaselineFault& fault);

  // For the record: what was trusted for what.
  nlohmann::json to_json() const;

 private:
  int chosen_;
  HeldByKind held_;
  int by_oracle_ = 0, by_baseline_ = 0, asked_again_ = 0;
  bool both_answered_ = false;
};

}  // namespace warpgrade::declared
