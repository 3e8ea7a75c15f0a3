// Several judges on one GPU: outside timed phases they share it, in a timed phase one has it alone. A lease
// is two locked files; the kernel gives a dead process's locks back.
#pragma once

#include <filesystem>
#include <functional>

#include "base/files.h"

namespace warpgrade {

class GpuLease {
 public:
  GpuLease() = default;                                // nobody to share with: everything returns at once
  explicit GpuLease(const std::filesystem::path& at);  // files `at` and `at`.turn; throws JudgeFault

  void share();  // waits while another has the GPU alone or waits for that
  void own();    // waits until no other shares it; from share() or nothing
  void release();

  // Lets a waiting owner go first: calls before(), gives up the share until it is done, calls after().
  // Nothing happens when nobody waits. Returns the seconds waited.
  double yield_to_owner(const std::function<void()>& before, const std::function<void()>& after);

 private:
  void lock(const FileDescriptor& file, int operation);

  FileDescriptor gpu_, turn_;
  enum class State { kNone, kShared, kOwned } state_ = State::kNone;
};

}  // namespace warpgrade
