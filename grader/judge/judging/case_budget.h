// What the calls of a submission may take in one case, all processes that serve the case together: each call
// has its own limit, and all calls have one. Only the submission's calls count (plan, run, free), from the
// command until its answer; the judge's own work, baselines and waiting for a GPU do not.
//
// A case and its processes share one, in the judge's thread: RunnerProcess::use_budget.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/cpu_time.h"
#include "judge/protocol/protocol.h"

namespace warpgrade {

class CaseBudget {
 public:
  using Time = std::chrono::milliseconds;

  explicit CaseBudget(Time total) : total_(total) {}

  static bool counts(protocol::Op op);
  // What is left of the whole; never less than nothing.
  Time rest() const;
  // The limit of a call that alone may take `limit`.
  Time limit_for(protocol::Op op, Time limit) const { return counts(op) ? std::min(limit, rest()) : limit; }

  // Before each command, while its answer is waited for, and behind it.
  void begin_call() { call_load_ = {}; }
  void look() { call_load_.look(); }
  void end_call(protocol::Op op, std::chrono::microseconds taken);

  // So many calls of each kind.
  struct Calls {
    int plans = 0, runs = 0, frees = 0;
  };
  // Whether they can still be made, each taking as long as the longest of its kind has taken.
  bool has_room_for(const Calls& calls) const;

  // Whether others had the cores: while the last call was waited for, or over the whole case where all that
  // its calls may take is used up.
  bool was_busy() const;
  // "the case's calls took 31 s of 60 s; load 9.2 on 2 cores".
  std::string text() const;
  // For the record: {total_s, limit_s, load, busy}.
  nlohmann::json to_json() const;

 private:
  double deciding_load() const;

  Time total_;
  std::chrono::microseconds spent_{};
  std::array<std::chrono::microseconds, 3> longest_{};  // plan, run, free
  MeanLoad call_load_, case_load_;
};

}  // namespace warpgrade
