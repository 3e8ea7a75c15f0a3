// One lab of `warpgrade test`, wherever it is judged: what the report on the screen wants to know of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"

namespace warpgrade {

// Where a lab's run stands, for a line on the screen.
struct StudentProgress {
  bool compiling = true;
  std::string waiting;  // for what, before it compiles: "place 3 in the queue"; empty: for nothing
  std::string case_id;  // in work; empty between cases
  double case_s = 0;    // since it began
  std::size_t done = 0, total = 0;
  std::optional<double> left_s;  // of the lab's cases, from those that are done
};

class StudentRun {
 public:
  virtual ~StudentRun() = default;

  virtual const std::string& lab() const = 0;
  virtual std::filesystem::path folder() const = 0;  // of the submission
  virtual std::string title() const = 0;             // "spmm: 15 cases"
  virtual std::size_t total() const = 0;             // cases
  virtual void start() = 0;
  virtual void wait_until_compiled() = 0;
  // Returns when nothing of the run is at work any more.
  virtual void wait_for_end() = 0;
  virtual StudentProgress progress() const = 0;
  // In the order of the cases.
  virtual std::vector<Record> records() const = 0;
  // The case whose time limit ended the run, "" without one.
  virtual std::string stopped_at() const = 0;
};

}  // namespace warpgrade
