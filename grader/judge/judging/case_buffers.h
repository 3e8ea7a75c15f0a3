// The judge's memory for one case, whatever the lab: what is shared with the runners, private copies of it,
// guard words. A lab's own buffers add how its inputs are drawn and its output is checked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/judging/shared_buffer.h"

namespace warpgrade {

// What a run may have done to memory that it must leave alone.
struct Integrity {
  std::string damaged_guard;   // "C": words before or behind it changed
  bool guard_behind = false;   // behind the payload (in front of it otherwise)
  std::string modified_input;  // "A.values", "B", ...
  bool ok() const { return damaged_guard.empty() && modified_input.empty(); }
};

// Submission and baselines each have an output of their own, so that late work of one can't touch
// the other's.
enum class Output { kSubmission = 0, kBaseline = 1 };

class CaseBuffers {
 public:
  virtual ~CaseBuffers() = default;

  // Device facts for the record.
  virtual nlohmann::json describe() = 0;
  virtual std::vector<SharedBuffer> input_buffers() = 0;
  virtual SharedBuffer output_buffer(Output output) = 0;  // of one name for either
  // Where a lab has several.
  virtual std::vector<SharedBuffer> output_buffers(Output output) { return {output_buffer(output)}; }

  virtual void poison(Output output) = 0;    // and renews the guard words
  virtual void snapshot(Output output) = 0;  // the output into private memory, at once
  virtual Integrity check_integrity() = 0;   // inputs and every guard word
};

}  // namespace warpgrade
