// A control group for one untrusted process and all that it starts: memory (private, shared, memfd, tmpfs and
// swap together), number of processes and threads, share of the CPU; frozen, let go and killed as a whole.
//
// The group is made before the process, which joins between fork and exec, so that nothing is ever outside;
// it is removed with the object, and by the next start where its owner died (cgroup_place.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "judge/sandbox/cgroup_place.h"

namespace warpgrade {

struct GroupLimits {
  std::size_t memory_bytes = 0;  // 0: no limit
  std::size_t processes = 0;     // and threads; 0: no limit
  unsigned cpu_weight = 100;     // of 100, a process group's usual share where the CPU is short
};

class ControlGroup : public ProcessFence {
 public:
  // Throws JudgeFault when the place, which worked before, refuses now.
  ControlGroup(const CgroupPlace& place, const GroupLimits& limits);
  // Ends what is left in it and removes it.
  ~ControlGroup() override;
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  bool join(bool born_inside) const noexcept override;
  int cgroup_folder() const noexcept override { return cgroup_folder_.get(); }
  bool kill() noexcept override;
  std::string met_limit() const override;
  bool lacked_memory_above() const override;
  std::optional<std::chrono::microseconds> cpu_time() const override;

  // Stops all threads and waits, 100 ms at most, until none runs; false: some still does (one that is inside
  // the kernel stops when it leaves it).
  bool freeze() noexcept;
  void thaw() noexcept;

  // Bytes; 0 where the place has no memory controller.
  std::size_t charged_bytes()
      const;                       // everything, the page cache too, which the kernel takes back when it must
  std::size_t used_bytes() const;  // private, shared, tmpfs and swapped memory: what the processes hold
  std::size_t peak_bytes() const;  // of charged_bytes
  bool out_of_memory() const;      // the kernel has killed a process of the group for the group's own limit
  bool out_of_processes() const;   // a fork or a new thread was refused

  bool limits_memory() const { return memory_ != nullptr; }
  bool limits_processes() const { return pids_ != nullptr; }
  bool can_freeze() const { return freezer_ != nullptr; }
  const GroupLimits& limits() const { return limits_; }

 private:
  struct Folder {
    int version = 2;
    std::filesystem::path path;
    FileDescriptor door;  // joining is a write to it
  };
  void add(const CgroupHierarchy& hierarchy, const std::string& name);
  void set_limits();
  void open_cpu_usage();
  void set_cpu_weight(unsigned weight);
  bool is_empty() const noexcept;
  bool met_own_memory_limit() const;
  void write_freezer(bool frozen) noexcept;
  bool remove(std::chrono::milliseconds limit) noexcept;

  GroupLimits limits_;
  std::vector<std::unique_ptr<Folder>> folders_;
  const Folder* memory_ = nullptr;
  const Folder* pids_ = nullptr;
  const Folder* cpu_ = nullptr;
  const Folder* freezer_ = nullptr;
  const Folder* killer_ = nullptr;  // has cgroup.kill
  FileDescriptor cgroup_folder_;    // the folder of version 2, where there is one
  FileDescriptor memory_usage_, memory_events_, pids_events_;
  FileDescriptor cpu_usage_;  // version 2's cpu.stat, which a group has without a controller, or version 1's
  bool cpu_usage_is_second_ = false;
};

// A group with these limits; none where groups can't be made here.
std::shared_ptr<ControlGroup> make_control_group(const GroupLimits& limits);

}  // namespace warpgrade
