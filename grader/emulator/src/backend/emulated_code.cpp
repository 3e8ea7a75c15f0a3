// Modules, kernels and their launches.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "backend/command_order.h"
#include "backend/emulated.h"
#include "backend/nested_launches.h"
#include "cudart/cluster.h"
#include "cudart/register_limit.h"
#include "memory/device_memory.h"
#include "simt/conditions.h"
#include "simt/run_launch.h"
#include "support/device_model.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

using cudart::KernelFacts;
using cudart::KernelId;
using cudart::MemoryRange;
using cudart::ModuleId;

constexpr uint64_t kParamCapacity = 32764;
constexpr uint64_t kWorkspaceBytes = 64;

struct LaunchBuffers {
  uint64_t params_address;
  uint8_t* params;
  uint64_t workspace_address;
  uint8_t* workspace;
};

// Empty when no memory is left for them.
const std::optional<LaunchBuffers>& launch_buffers() {
  static const std::optional<LaunchBuffers> buffers = []() -> std::optional<LaunchBuffers> {
    DeviceMemory& memory = DeviceMemory::instance();
    const auto params = memory.allocate(kParamCapacity, MemoryKind::parameters, "kernel parameters");
    const auto workspace = memory.allocate(kWorkspaceBytes, MemoryKind::parameters, "the grid's barrier");
    if (!params || !workspace) return std::nullopt;
    return LaunchBuffers{*params, memory.find(*params)->host(*params), *workspace,
                         memory.find(*workspace)->host(*workspace)};
  }();
  return buffers;
}

int default_dynamic_shared(const Program& program) {
  return static_cast<int>(kSharedPerBlock - std::min<size_t>(kSharedPerBlock, program.static_shared_bytes));
}

// Registers limit where ptxas' number is known.
int max_active_blocks(const Program& program, int threads, size_t dynamic_shared) {
  if (threads <= 0 || threads > static_cast<int>(program.max_threads)) return 0;
  const DeviceModel& model = device_model();
  if (dynamic_shared > model.shared_per_block_optin) return 0;
  const size_t shared = program.static_shared_bytes + dynamic_shared;
  if (shared > model.shared_per_block_optin) return 0;
  const int warps = (threads + 31) / 32;
  const int by_threads = model.threads_per_multiprocessor / 32 / warps;
  const size_t occupied = shared + model.reserved_shared_per_block;
  const int by_shared = occupied == 0 ? model.blocks_per_multiprocessor
                                      : static_cast<int>(model.shared_per_multiprocessor / occupied);
  const uint32_t parts = model.major == 6 && model.minor == 0 ? 2 : cudart::kPartsOfMultiprocessor;
  const uint32_t by_registers =
      cudart::blocks_by_registers(program.registers, static_cast<uint32_t>(threads),
                                  static_cast<uint32_t>(model.registers_per_multiprocessor), parts);
  const int most = std::min({by_threads, by_shared, model.blocks_per_multiprocessor});
  return static_cast<int>(std::min<uint32_t>(by_registers, static_cast<uint32_t>(most)));
}

// ptxas' number. Where it is not known, that of PTX, within what ptxas may take.
uint32_t registers_of(const Program& program) {
  if (program.registers != 0) return program.registers;
  const uint32_t most = program.max_threads < static_cast<uint32_t>(kMaxThreadsPerBlock)
                            ? cudart::most_registers_for(program.max_threads, kRegistersPerBlock)
                            : 255;
  return std::min(program.register_count, most);
}

// Whether the attribute is one of clusters, and then kept.
bool set_cluster_attribute(Kernel& kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
    kernel.wide_clusters = value != 0;
    return true;
  }
  const int axis = attribute - cudaFuncAttributeRequiredClusterWidth;
  if (axis < 0 || axis > 2) return false;
  if (kernel.cluster[0] == 0) kernel.cluster = {1, 1, 1};
  kernel.cluster[static_cast<size_t>(axis)] = std::max(1, value);
  return true;
}

}  // namespace

KernelFacts facts_of(const Kernel& kernel) {
  const Program& program = *kernel.program;
  KernelFacts facts;
  for (const ParamSlot& p : program.params) {
    facts.parameters.push_back({p.offset, p.bytes});
    facts.parameter_bytes = std::max(facts.parameter_bytes, p.offset + p.bytes);
  }
  facts.max_threads = static_cast<int32_t>(program.max_threads);
  facts.static_shared = static_cast<int32_t>(program.static_shared_bytes);
  facts.local_bytes = static_cast<int32_t>(program.local_bytes);
  facts.registers = static_cast<int32_t>(registers_of(program));
  // CUB compares these with the architectures it was compiled for.
  facts.ptx_version = facts.binary_version = static_cast<int32_t>(program.module->target);
  facts.max_dynamic_shared =
      kernel.max_dynamic_shared >= 0 ? kernel.max_dynamic_shared : default_dynamic_shared(program);
  facts.preferred_carveout = kernel.preferred_carveout;
  facts.cluster = kernel.cluster;
  if (facts.cluster[0] == 0) std::copy_n(program.cluster, 3, facts.cluster.begin());
  facts.wide_clusters = kernel.wide_clusters ? 1 : 0;
  return facts;
}

LoadedModule* Emulated::module_of(ModuleId module) {
  if (module >= modules_.size()) return nullptr;
  return modules_[module][static_cast<size_t>(cudart::current_device())].get();
}

Kernel* Emulated::kernel_of(KernelId kernel) {
  std::lock_guard lock(code_mutex_);
  if (kernel >= kernels_.size() || kernels_[kernel]->program == nullptr) return nullptr;
  return kernels_[kernel].get();
}

// Of all modules, when the program ends: by then all of them are known.
void Emulated::list_mutants_at_end() {
  if (settings().mutant != "list") return;
  static const int registered = std::atexit([] {
    for (const auto& by_device : instance().modules_)
      std::fputs(by_device.front()->mutants().c_str(), stdout);
    std::fflush(stdout);
  });
  static_cast<void>(registered);
}

cudaError_t Emulated::add_module(std::span<const std::span<const uint8_t>> containers, ModuleId& module) {
  std::lock_guard lock(code_mutex_);
  list_mutants_at_end();
  module = static_cast<ModuleId>(modules_.size());
  std::vector<std::unique_ptr<LoadedModule>>& by_device = modules_.emplace_back();
  for (int device = 0; device < device_count(); ++device) {
    by_device.push_back(std::make_unique<LoadedModule>(
        std::vector<std::span<const uint8_t>>(containers.begin(), containers.end()),
        by_device.empty() ? nullptr : by_device.front().get()));
  }
  return cudaSuccess;
}

std::string Emulated::load_now(ModuleId module, bool whole) {
  std::lock_guard lock(code_mutex_);
  LoadedModule* loaded = module_of(module);
  if (loaded == nullptr) return "the module does not exist";
  if (loaded->load() && whole) loaded->read_bodies();
  return loaded->problem();
}

std::vector<std::string> Emulated::kernels_of(ModuleId module) {
  std::lock_guard lock(code_mutex_);
  LoadedModule* loaded = module_of(module);
  return loaded != nullptr && loaded->load() ? loaded->kernels() : std::vector<std::string>{};
}

void Emulated::unload(ModuleId module) {
  std::lock_guard lock(code_mutex_);
  if (module >= modules_.size()) return;
  for (const auto& on_device : modules_[module]) on_device->release_variables();
}

cudaError_t Emulated::add_managed(ModuleId module, const std::string& name, MemoryRange& variable) {
  std::lock_guard lock(code_mutex_);
  if (module_of(module) == nullptr) return cudaErrorInvalidResourceHandle;
  for (const auto& on_device : modules_[module]) on_device->add_managed(name);
  return find_variable(module, name, variable);
}

cudaError_t Emulated::find_variable(ModuleId module, const std::string& name, MemoryRange& variable) {
  std::lock_guard lock(code_mutex_);
  DeviceVariable found;
  LoadedModule* owner = module_of(module);
  if (owner == nullptr || !owner->find_variable(name, found)) return cudaErrorInvalidSymbol;
  const auto range = find(found.address);
  variable = {found.address, found.address + found.bytes, range ? range->kind : cudart::MemoryKind::other,
              false, cudart::current_device()};
  return cudaSuccess;
}

cudaError_t Emulated::find_kernel(ModuleId module, const std::string& name, KernelId& kernel,
                                  KernelFacts& facts) {
  std::lock_guard lock(code_mutex_);
  if (module_of(module) == nullptr) return cudaErrorInvalidResourceHandle;
  const Kernel& found = kernel_named(module, name, kernel);
  if (found.program == nullptr) {
    Diagnostics::instance().add(problem_of(found));
    return cudaErrorNotSupported;
  }
  facts = facts_of(found);
  return cudaSuccess;
}

Kernel& Emulated::kernel_named(ModuleId module, const std::string& name, KernelId& id) {
  std::lock_guard lock(code_mutex_);
  const auto [known, is_new] = kernel_ids_.try_emplace({module, cudart::current_device(), name},
                                                       static_cast<KernelId>(kernels_.size()));
  id = known->second;
  if (is_new) {
    kernels_.push_back(std::make_unique<Kernel>());
    kernels_.back()->owner = module_of(module);
    kernels_.back()->module = module;
    kernels_.back()->name = name;
    build(*kernels_.back());
  }
  return *kernels_[id];
}

cudaError_t Emulated::set_attribute(KernelId id, cudaFuncAttribute attribute, int value, KernelFacts& facts) {
  std::lock_guard lock(code_mutex_);
  Kernel* kernel = kernel_of(id);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  if (set_cluster_attribute(*kernel, attribute, value)) {
  } else if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const size_t limit = device_model().shared_per_block_optin - kernel->program->static_shared_bytes;
    if (value < 0 || static_cast<size_t>(value) > limit) return cudaErrorInvalidValue;
    kernel->max_dynamic_shared = value;
  } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    kernel->preferred_carveout = value;
  }
  facts = facts_of(*kernel);
  return cudaSuccess;
}

cudaError_t Emulated::occupancy(KernelId id, int threads, size_t dynamic_shared, unsigned, int& blocks) {
  const Kernel* kernel = kernel_of(id);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  blocks = max_active_blocks(*kernel->program, threads, dynamic_shared);
  return cudaSuccess;
}

cudaError_t Emulated::available_shared(KernelId id, int blocks, int, size_t& bytes) {
  const Kernel* kernel = kernel_of(id);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  if (blocks <= 0) return cudaErrorInvalidValue;
  const size_t share = device_model().shared_per_multiprocessor / static_cast<size_t>(blocks);
  const size_t limit = std::min(share, device_model().shared_per_block_optin);
  const size_t own = kernel->program->static_shared_bytes;
  bytes = limit > own ? limit - own : 0;
  return cudaSuccess;
}

// Where blocks of a cluster may lie on a GPU depends on how its multiprocessors are grouped, which nobody
// says: here all of them count.
cudaError_t Emulated::active_clusters(const cudart::LaunchCall& call, int& clusters) {
  int largest = 0, blocks = 0;
  if (const cudaError_t error = largest_cluster(call, largest); error != cudaSuccess) return error;
  const cudart::KernelFacts facts = facts_of(*kernel_of(call.kernel));
  const uint64_t size = cudart::blocks_of(cudart::cluster_of(call.attributes, facts.cluster));
  if (size > static_cast<uint64_t>(largest)) return cudaErrorInvalidClusterSize;
  const auto threads = static_cast<int>(call.block[0] * call.block[1] * call.block[2]);
  const cudaError_t error = occupancy(call.kernel, threads, call.dynamic_shared, 0, blocks);
  clusters = blocks * device().attributes[cudaDevAttrMultiProcessorCount] / static_cast<int>(size);
  return error;
}

cudaError_t Emulated::largest_cluster(const cudart::LaunchCall& call, int& blocks) {
  const Kernel* kernel = kernel_of(call.kernel);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  blocks = static_cast<int>(cudart::most_cluster_blocks(facts_of(*kernel)));
  return cudaSuccess;
}

cudaError_t Emulated::create_condition(uint64_t& handle) {
  handle = emu::create_condition();
  return cudaSuccess;
}

cudaError_t Emulated::set_condition(uint64_t handle, uint32_t value) {
  return emu::set_condition(handle, value) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Emulated::read_condition(uint64_t handle, uint32_t& value) {
  const auto known = emu::condition(handle);
  value = known.value_or(0);
  return known ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Emulated::launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) {
  static std::mutex one_launch;  // the parameter buffer is shared
  const Kernel* kernel = kernel_of(call.kernel);
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  const cudart::ClusterSize cluster = cudart::cluster_of(call.attributes, facts_of(*kernel).cluster);
  if (cudart::blocks_of(cluster) > 1 && device_model().major < 9) {
    report({cudart::HostFinding::Kind::unsupported, kernel->name,
            "unsupported launch with thread block clusters on a device of compute capability " +
                std::to_string(device_model().major) + "." + std::to_string(device_model().minor),
            "Clusters need compute capability 9.0 (WARPEMU_DEVICE=h200): the kernel was not started."});
    return cudaErrorNotSupported;
  }
  std::lock_guard lock(one_launch);
  static uint64_t sequence = 0;
  if (!launch_buffers()) return cudaErrorMemoryAllocation;
  const LaunchBuffers& buffers = *launch_buffers();
  if (parameters.size() > kParamCapacity) return cudaErrorInvalidValue;
  Launch launch;
  launch.program = kernel->program.get();
  launch.stack_limit = stack_limit();
  std::copy(call.grid.begin(), call.grid.end(), launch.grid);
  std::copy(call.block.begin(), call.block.end(), launch.block);
  std::copy(cluster.begin(), cluster.end(), launch.cluster);
  launch.dynamic_shared = call.dynamic_shared;
  launch.cooperative = call.cooperative;
  launch.device = cudart::current_device();
  launch.reachable = peers_[static_cast<size_t>(launch.device)] | 1u << launch.device;
  launch.params = buffers.params;
  launch.params_address = buffers.params_address;
  launch.workspace_address = call.cooperative ? buffers.workspace_address : 0;
  launch.sequence = ++sequence;
  CommandOrder::Launching command = CommandOrder::instance().begin_launch(call.stream);
  launch.touched = command.recorder;
  std::memset(buffers.workspace, 0, kWorkspaceBytes);
  if (!parameters.empty()) std::memcpy(buffers.params, parameters.data(), parameters.size());
  std::optional<NestedKernels> runtime;
  if (launch.program->uses_device_runtime) {
    if (!ParameterBuffers::instance().reserve()) return cudaErrorMemoryAllocation;
    launch.runtime = &runtime.emplace(*this, *kernel);
  }
  Fault fault = run_launch(launch);
  if (fault == Fault::none && runtime) fault = run_nested(*this, launch, buffers.params, sequence);
  if (fault != Fault::none) set_sticky(static_cast<cudaError_t>(fault));
  CommandOrder::instance().launched(std::move(command), kernel->name, kernel->program->title);
  return cudaSuccess;  // faults of the kernel surface at the next call, as on a GPU
}

}  // namespace warpgrade::emu
