#include "backend/nested_launches.h"

#include <algorithm>
#include <cstring>

#include "cudart/errors.h"
#include "cudart/function_attributes.h"
#include "memory/device_memory.h"

namespace warpgrade::emu {
namespace {

using cudart::KernelFacts;

constexpr uint32_t kErrorCodes = 1000;

// Names and descriptions of all errors, where kernels can read them.
struct ErrorTexts {
  std::map<std::string, uint64_t> addresses;
};

const ErrorTexts& error_texts() {
  static const ErrorTexts* known = [] {
    std::string all;
    std::map<std::string, uint64_t> offsets;
    for (uint32_t code = 0; code < kErrorCodes; ++code) {
      const auto error = static_cast<cudaError_t>(code);
      for (const char* text : {cudart::error_name(error), cudart::error_text(error)}) {
        if (offsets.try_emplace(text, all.size()).second) all.append(text).push_back('\0');
      }
    }
    auto* texts = new ErrorTexts;
    DeviceMemory& memory = DeviceMemory::instance();
    const auto begin = memory.allocate(all.size(), MemoryKind::parameters, "names of errors");
    if (!begin) return texts;
    std::memcpy(memory.find(*begin)->host(*begin), all.data(), all.size());
    for (const auto& [text, offset] : offsets) texts->addresses[text] = *begin + offset;
    return texts;
  }();
  return *known;
}

// The last is the next to run.
void push(std::vector<NestedWork>& waiting, std::vector<NestedWork> launched) {
  std::move(launched.rbegin(), launched.rend(), std::back_inserter(waiting));
}

class NestedRun {
 public:
  NestedRun(Emulated& owner, Launch& root, uint8_t* params, uint64_t& sequence)
      : owner_(owner), root_(root), params_(params), sequence_(sequence), steps_(root.steps) {
    push(waiting_, root.take_nested());
  }

  Fault run() {
    while (!waiting_.empty()) {
      const NestedWork work = std::move(waiting_.back());
      waiting_.pop_back();
      Fault fault = Fault::none;
      if (const auto* grid = std::get_if<NestedGrid>(&work.what)) {
        fault = launch(work, *grid);
      } else if (const auto* copy = std::get_if<NestedCopy>(&work.what)) {
        fault = transfer(*copy);
      } else {
        fault = transfer(std::get<NestedFill>(work.what));
      }
      if (fault != Fault::none) return fault;
    }
    return Fault::none;
  }

 private:
  Fault launch(const NestedWork& work, const NestedGrid& grid) {
    const std::optional<NestedKernel> kernel = root_.runtime->kernel(grid.kernel);
    Launch child;
    child.program = kernel->program;
    std::copy_n(grid.grid, 3, child.grid);
    std::copy_n(grid.block, 3, child.block);
    std::copy_n(kernel->cluster, 3, child.cluster);
    child.dynamic_shared = grid.dynamic_shared;
    child.device = root_.device;
    child.touched = root_.touched;
    child.reachable = root_.reachable;
    child.params = params_;
    child.params_address = root_.params_address;
    child.sequence = ++sequence_;
    child.stack_limit = root_.stack_limit;
    child.runtime = root_.runtime;
    child.depth = work.depth;
    child.launched_at = &work.place;
    child.steps_before = steps_;
    child.deadline = root_.deadline;
    std::copy(grid.parameters.begin(), grid.parameters.end(), params_);
    const Fault fault = run_launch(child);
    steps_ += child.steps;
    if (fault == Fault::none) push(waiting_, child.take_nested());
    return fault;
  }

  Fault transfer(const NestedCopy& c) {
    cudart::RowsCopy rows;
    rows.to = {c.to, c.to_pitch, 0};
    rows.from = {c.from, c.from_pitch, 0};
    rows.width = c.width;
    rows.height = c.height;
    return fault_of(owner_.transfer(rows));
  }

  Fault transfer(const NestedFill& f) {
    return fault_of(owner_.transfer(cudart::Fill{f.to, f.pitch, f.value, 1, f.width, f.height}));
  }

  // What a call names is checked when the kernel makes it; memory may have been freed since.
  static Fault fault_of(cudaError_t error) {
    return error == cudaSuccess ? Fault::none : Fault::illegal_address;
  }

  Emulated& owner_;
  Launch& root_;
  uint8_t* params_;
  uint64_t& sequence_;
  uint64_t steps_;
  std::vector<NestedWork> waiting_;
};

}  // namespace

NestedKernels::NestedKernels(Emulated& owner, const Kernel& launched) : owner_(owner) {
  error_texts();
  const Module& module = launched.owner->module();
  for (const std::string& name : launched.owner->launchable()) {
    cudart::KernelId id = 0;
    const Kernel& kernel = owner.kernel_named(launched.module, name, id);
    kernels_[module.address_of(module.functions.at(name))] = {id, &kernel};
  }
}

std::optional<NestedKernel> NestedKernels::kernel(uint64_t address) const {
  const auto found = kernels_.find(address);
  if (found == kernels_.end()) return std::nullopt;
  NestedKernel known;
  const Kernel& kernel = *found->second.kernel;
  if (kernel.program == nullptr) return known;
  known.program = kernel.program.get();
  const KernelFacts facts = facts_of(kernel);
  known.max_dynamic_shared = static_cast<uint32_t>(std::max(0, facts.max_dynamic_shared));
  for (size_t axis = 0; axis < 3; ++axis)
    known.cluster[axis] = static_cast<uint32_t>(std::max(1, facts.cluster[axis]));
  return known;
}

Diagnostic NestedKernels::problem(uint64_t address) const {
  return problem_of(*kernels_.at(address).kernel);
}

CallError NestedKernels::attribute(uint32_t what, uint32_t device, int32_t& value) const {
  const cudart::DeviceFacts& facts = owner_.device();
  if (device >= static_cast<uint32_t>(owner_.device_count())) return CallError::invalid_device;
  if (what == 0 || what >= facts.attributes.size()) return CallError::invalid_value;
  value = facts.attributes[what];
  return CallError::none;
}

CallError NestedKernels::limit(uint32_t what, uint64_t& value) const {
  size_t known = 0;
  const auto error = static_cast<CallError>(owner_.get_limit(static_cast<cudaLimit>(what), known));
  value = known;
  return error;
}

std::vector<uint8_t> NestedKernels::describe(uint64_t address) const {
  const cudaFuncAttributes attributes = cudart::function_attributes(facts_of(*kernels_.at(address).kernel));
  const auto* bytes = reinterpret_cast<const uint8_t*>(&attributes);
  return {bytes, bytes + sizeof attributes};
}

CallError NestedKernels::occupancy(uint64_t address, uint32_t threads, uint64_t shared,
                                   int32_t& blocks) const {
  const auto found = kernels_.find(address);
  if (found == kernels_.end()) return CallError::invalid_device_function;
  const int limit = static_cast<int>(std::min<uint32_t>(threads, 1u << 20));
  return static_cast<CallError>(owner_.occupancy(found->second.id, limit, shared, 0, blocks));
}

uint64_t NestedKernels::error_text(uint32_t error, bool name) const {
  const auto code = static_cast<cudaError_t>(error);
  const auto found = error_texts().addresses.find(name ? cudart::error_name(code) : cudart::error_text(code));
  return found == error_texts().addresses.end() ? 0 : found->second;
}

int NestedKernels::device_count() const {
  return owner_.device_count();
}

// The device's runtime has a version of its own: CUDA 13's answers 6000 on an H200.
int NestedKernels::version() const {
  constexpr int kVersion = 6000;
  return kVersion;
}

Fault run_nested(Emulated& owner, Launch& root, uint8_t* params, uint64_t& sequence) {
  return NestedRun(owner, root, params, sequence).run();
}

}  // namespace warpgrade::emu
