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

// Submission and baselines write to the same outputs, in turn and only while the device has nothing else to
// do: memory elsewhere may be nearer to a multiprocessor, and is 2 % quicker then (seen on an H100).
class CaseBuffers {
 public:
  virtual ~CaseBuffers() = default;

  // Device facts for the record.
  virtual nlohmann::json describe() = 0;
  virtual std::vector<SharedBuffer> input_buffers() = 0;
  virtual SharedBuffer output_buffer() = 0;
  // Where a lab has several.
  virtual std::vector<SharedBuffer> output_buffers() { return {output_buffer()}; }

  virtual void poison() = 0;                // the outputs; and renews the guard words
  virtual void snapshot() = 0;              // the outputs into private memory, at once
  virtual Integrity check_integrity() = 0;  // inputs and every guard word
};

}  // namespace warpgrade
