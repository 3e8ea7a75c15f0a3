// Dynamic parallelism: the kernels that kernels may launch, and what they launched (state/nested.h).
#pragma once
#include <map>

#include "backend/emulated.h"
#include "state/launch.h"

namespace warpgrade::emu {

// The kernels of a program whose addresses its device code takes, built before the launch: a launch changes
// nothing of a module.
class NestedKernels final : public DeviceRuntime {
 public:
  NestedKernels(Emulated& owner, const Kernel& launched);

  std::optional<NestedKernel> kernel(uint64_t address) const override;
  Diagnostic problem(uint64_t address) const override;
  CallError attribute(uint32_t what, uint32_t device, int32_t& value) const override;
  CallError limit(uint32_t what, uint64_t& value) const override;
  std::vector<uint8_t> describe(uint64_t address) const override;
  CallError occupancy(uint64_t address, uint32_t threads, uint64_t shared, int32_t& blocks) const override;
  uint64_t error_text(uint32_t error, bool name) const override;
  int device_count() const override;
  int version() const override;

 private:
  struct Known {
    cudart::KernelId id;
    const Kernel* kernel;
  };

  Emulated& owner_;
  std::map<uint64_t, Known> kernels_;  // by address
};

// All that a grid which has ended without a fault launched, and what that launched in turn. `params` is where
// kernels find their arguments, `sequence` the number of the last launch. Returns the first fault, after
// which nothing more runs.
Fault run_nested(Emulated& owner, Launch& root, uint8_t* params, uint64_t& sequence);

}  // namespace warpgrade::emu
