// What the checks of a case's runs came to: for its record, and for the message of a wrong answer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "record/record.h"

namespace warpgrade {

class CheckedRuns {
 public:
  void begin_run() { ++repetitions_; }
  int repetitions() const { return repetitions_; }
  void count(const std::string& method, std::int64_t cells, double max_error_over_bound) {
    methods_.insert(method);
    cells_checked_ += cells;
    max_error_over_bound_ = std::max(max_error_over_bound_, max_error_over_bound);
  }
  // Errors' root mean squares beside their limits, where a lab has some.
  void count_rms(double over_limit) { max_rms_over_limit_ = std::max(max_rms_over_limit_, over_limit); }
  // A checked run with inputs of this kind was right.
  void count_right(int kind) {
    ++right_;
    right_kinds_.insert(kind);
  }

  // Of the runs that were right before one with inputs of this kind was not.
  std::string text_of_right(int kind) const {
    if (right_ == 0) return "";
    const char *more = right_ == 1 ? "" : "s", *were = right_ == 1 ? "was" : "were";
    if (!right_kinds_.contains(kind))
      return fmt::format("; {} run{} of this case before, with other inputs, {} right", right_, more, were);
    return fmt::format(
        "; {} run{} of this case before {} right: does a later run skip work, or use what an earlier run "
        "left?",
        right_, more, were);
  }

  Verification verification() const {
    Verification told;
    told.repetitions = repetitions_;
    told.methods.emplace(methods_.begin(), methods_.end());
    told.cells_checked = cells_checked_;
    told.max_error_over_bound = max_error_over_bound_;
    if (max_rms_over_limit_ > 0) told.max_rms_over_limit = max_rms_over_limit_;
    return told;
  }

 private:
  int repetitions_ = 0, right_ = 0;  // right: of the checked ones
  std::set<int> right_kinds_;
  std::set<std::string> methods_;
  std::int64_t cells_checked_ = 0;
  double max_error_over_bound_ = 0, max_rms_over_limit_ = 0;
};

}  // namespace warpgrade
