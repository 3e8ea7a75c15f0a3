// Modules, kernels and launches.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cudart/fat_binary.h"
#include "judge/executor/server_call.h"

namespace warpgrade::executor {

using cudart::KernelFacts;
using cudart::LaunchCall;
using cudart::MemoryRange;
using wire::Op;

unsigned turns_before_sleep() {
  constexpr int kPlenty = 4;
  cpu_set_t set;
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return cores > kPlenty ? 20'000 : 200;
}

// The last one's damage is the backend's to name.
std::vector<std::span<const uint8_t>> split_containers(std::span<const uint8_t> bytes) {
  std::vector<std::span<const uint8_t>> all;
  while (!bytes.empty()) {
    uint64_t size = cudart::container_bytes(bytes);
    if (size == 0 || size > bytes.size()) size = bytes.size();
    all.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return all;
}

namespace {

constexpr uint32_t kMostThreads = 1024;  // of a block

bool is_known_attribute(uint64_t attribute) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
    case cudaFuncAttributePreferredSharedMemoryCarveout:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return true;
    default:
      return false;
  }
}

// Those that hold no handle and no pointer to follow.
bool is_known_launch_attribute(uint32_t id) {
  switch (id) {
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeClusterDimension:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case wire::kLaunchAttributePreferredCarveout:
      return true;
    default:
      return false;
  }
}

}  // namespace

const CallServer::KernelEntry* CallServer::kernel_of(uint64_t number) const {
  return number < kernels_.size() ? &kernels_[number] : nullptr;
}

cudaError_t CallServer::carry_out_code(const Call& call) {
  switch (call.op()) {
    case Op::stage:
      return stage(call);
    case Op::add_module:
      return add_module(call);
    case Op::find_variable: {
      if (call.argument(0) >= images_.size()) return cudaErrorInvalidResourceHandle;
      before_waiting("find_variable");
      MemoryRange variable;
      Image& image = images_[call.argument(0)];
      const cudaError_t error =
          use_measured(image, [&] { return backend_.find_variable(image.id, call.text(), variable); });
      if (is_over_limit()) return cudaErrorMemoryAllocation;
      if (error != cudaSuccess) return error;
      variable.kind = cudart::MemoryKind::other;
      owned_.add(variable);
      values_[0] = variable.begin;
      values_[1] = variable.end - variable.begin;
      return cudaSuccess;
    }
    case Op::find_kernel:
      return find_kernel(call);
    case Op::set_attribute:
      return set_attribute(call);
    case Op::occupancy: {
      const KernelEntry* kernel = kernel_of(call.argument(0));
      if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
      int blocks = 0;
      const cudaError_t error = backend_.occupancy(
          kernel->id, static_cast<int32_t>(call.argument(1)), call.argument(2),
          static_cast<unsigned>(call.argument(3)) & cudaOccupancyDisableCachingOverride, blocks);
      values_[0] = static_cast<uint64_t>(blocks);
      return error;
    }
    case Op::available_shared: {
      const KernelEntry* kernel = kernel_of(call.argument(0));
      if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
      size_t bytes = 0;
      const cudaError_t error = backend_.available_shared(kernel->id, static_cast<int32_t>(call.argument(1)),
                                                          static_cast<int32_t>(call.argument(2)), bytes);
      values_[0] = bytes;
      return error;
    }
    case Op::active_clusters:
    case Op::largest_cluster:
      return ask_of_clusters(call);
    default:
      return launch(call);
  }
}

namespace {

// Its symbol in a cubin that calls it. (Submissions are compiled without compression.)
bool names_malloc(const std::vector<uint8_t>& image) {
  constexpr std::string_view kName = "malloc";
  return std::search(image.begin(), image.end(), kName.begin(), kName.end()) != image.end();
}

}  // namespace

cudaError_t CallServer::stage(const Call& call) {
  if (call.data.size() > limits_.module_bytes - module_bytes_ - staged_.size())
    throw ProtocolError("device code of more than " + std::to_string(limits_.module_bytes) + " bytes");
  staged_.insert(staged_.end(), call.data.begin(), call.data.end());
  return cudaSuccess;
}

std::vector<uint8_t> CallServer::take_staged(uint64_t bytes, const char* what) {
  if (bytes != staged_.size()) throw ProtocolError(std::string(what) + " of another size than was sent");
  return std::exchange(staged_, {});
}

cudaError_t CallServer::add_module(const Call& call) {
  std::vector<uint8_t> bytes = take_staged(call.argument(0), "device code");
  if (images_.size() >= limits_.modules) return cudaErrorMemoryAllocation;
  Image image;
  image.bytes = std::make_unique<std::vector<uint8_t>>(std::move(bytes));
  image.bytes->shrink_to_fit();
  if (const cudaError_t error = load_measured(image); error != cudaSuccess) return error;
  module_bytes_ += image.bytes->size();
  may_use_heap_ = may_use_heap_ || names_malloc(*image.bytes);
  values_[0] = images_.size();
  images_.push_back(std::move(image));
  return cudaSuccess;
}

cudaError_t CallServer::find_kernel(const Call& call) {
  if (call.argument(0) >= images_.size()) return cudaErrorInvalidResourceHandle;
  const uint64_t module = call.argument(0);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (kernels_[k].module == module && kernels_[k].name == call.text())
      return reply_kernel(kernels_[k], static_cast<uint32_t>(k));
  }
  if (kernels_.size() >= limits_.kernels) return cudaErrorMemoryAllocation;
  before_waiting("find_kernel");
  KernelEntry kernel;
  kernel.module = module;
  kernel.name = call.text();
  Image& image = images_[module];
  const cudaError_t error = use_measured(
      image, [&] { return backend_.find_kernel(image.id, kernel.name, kernel.id, kernel.facts); });
  if (error != cudaSuccess) return error;
  count_stack(static_cast<uint64_t>(std::max(0, kernel.facts.local_bytes)));
  if (is_over_limit()) return cudaErrorMemoryAllocation;
  kernels_.push_back(std::move(kernel));
  return reply_kernel(kernels_.back(), static_cast<uint32_t>(kernels_.size() - 1));
}

cudaError_t CallServer::reply_kernel(const KernelEntry& kernel, uint32_t number) {
  const KernelFacts& facts = kernel.facts;
  const auto count = static_cast<uint32_t>(facts.parameters.size());
  const size_t bytes = sizeof(wire::Kernel) + count * sizeof(wire::Parameter);
  if (bytes > wire::kReplyBytes) return cudaErrorNotSupported;
  const wire::Kernel k{number,
                       count,
                       facts.parameter_bytes,
                       facts.max_threads,
                       facts.static_shared,
                       facts.constant_bytes,
                       facts.local_bytes,
                       facts.registers,
                       facts.ptx_version,
                       facts.binary_version,
                       facts.max_dynamic_shared,
                       facts.preferred_carveout,
                       {facts.cluster[0], facts.cluster[1], facts.cluster[2]},
                       facts.wide_clusters};
  reply_.resize(bytes);
  std::memcpy(reply_.data(), &k, sizeof k);
  for (uint32_t p = 0; p < count; ++p) {
    const wire::Parameter parameter{facts.parameters[p].offset, facts.parameters[p].bytes};
    std::memcpy(reply_.data() + sizeof k + p * sizeof parameter, &parameter, sizeof parameter);
  }
  return cudaSuccess;
}

cudaError_t CallServer::set_attribute(const Call& call) {
  if (kernel_of(call.argument(0)) == nullptr) return cudaErrorInvalidResourceHandle;
  if (!is_known_attribute(call.argument(1))) return cudaErrorInvalidValue;
  KernelEntry& kernel = kernels_[call.argument(0)];
  const cudaError_t error =
      backend_.set_attribute(kernel.id, static_cast<cudaFuncAttribute>(call.argument(1)),
                             static_cast<int32_t>(call.argument(2)), kernel.facts);
  return error != cudaSuccess ? error : reply_kernel(kernel, call.low(0));
}

// The host process has checked this, or should have.
cudaError_t CallServer::check_launch(const KernelEntry& kernel, const LaunchCall& launch) {
  constexpr uint32_t kMostZ = 64, kMostGridYZ = 65535, kMostGridX = 0x7fffffff;
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  const uint64_t threads = uint64_t{bx} * by * bz;
  const bool block_fits = bx > 0 && by > 0 && bz > 0 && bx <= kMostThreads && by <= kMostThreads &&
                          bz <= kMostZ &&
                          threads <= static_cast<uint64_t>(std::max(0, kernel.facts.max_threads));
  const bool grid_fits =
      gx > 0 && gy > 0 && gz > 0 && gx <= kMostGridX && gy <= kMostGridYZ && gz <= kMostGridYZ;
  if (!block_fits || !grid_fits) return cudaErrorInvalidValue;
  if (launch.dynamic_shared > static_cast<uint32_t>(std::max(0, kernel.facts.max_dynamic_shared)))
    return cudaErrorInvalidValue;
  if (!launch.cooperative) return cudaSuccess;
  int blocks = 0;
  const cudaError_t error =
      backend_.occupancy(kernel.id, static_cast<int>(threads), launch.dynamic_shared, 0, blocks);
  if (error != cudaSuccess) return error;
  const auto resident = static_cast<uint64_t>(std::max(0, blocks)) *
                        static_cast<uint64_t>(backend_.device().attributes[cudaDevAttrMultiProcessorCount]);
  const bool fits = uint64_t{gx} * gy <= resident && uint64_t{gx} * gy * gz <= resident;
  return fits ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

// `arguments` and `data` as a launch travels; `launch` refers to `attributes`, its stream is left out.
cudaError_t CallServer::read_configuration(const uint64_t* arguments, std::span<const uint8_t> data,
                                           LaunchCall& launch, std::vector<cudaLaunchAttribute>& attributes,
                                           size_t& parameter_bytes) {
  const auto low = [&](size_t k) { return static_cast<uint32_t>(arguments[k]); };
  const auto high = [&](size_t k) { return static_cast<uint32_t>(arguments[k] >> 32); };
  const KernelEntry* kernel = kernel_of(low(0));
  if (kernel == nullptr) return cudaErrorInvalidResourceHandle;
  launch.kernel = kernel->id;
  launch.grid = {low(1), high(1), low(2)};
  launch.block = {high(2), low(3), high(3)};
  launch.dynamic_shared = low(4);
  launch.cooperative = high(4) != 0;
  parameter_bytes = low(5);
  const size_t count = high(5), padded = wire::round_up(parameter_bytes, 8);
  if (count > wire::kMostAttributes || data.size() != padded + count * sizeof(wire::Attribute))
    return cudaErrorInvalidValue;
  attributes.resize(count);
  for (size_t k = 0; k < count; ++k) {
    wire::Attribute attribute;
    std::memcpy(&attribute, data.data() + padded + k * sizeof attribute, sizeof attribute);
    if (!is_known_launch_attribute(attribute.id)) return cudaErrorNotSupported;
    attributes[k].id = static_cast<cudaLaunchAttributeID>(attribute.id);
    std::memcpy(&attributes[k].val, attribute.value, sizeof attributes[k].val);
  }
  launch.attributes = attributes;
  return cudaSuccess;
}

// The same, checked: the launch could be made.
cudaError_t CallServer::read_launch(const uint64_t* arguments, std::span<const uint8_t> data,
                                    LaunchCall& launch, std::vector<cudaLaunchAttribute>& attributes,
                                    size_t& parameter_bytes) {
  const cudaError_t error = read_configuration(arguments, data, launch, attributes, parameter_bytes);
  if (error != cudaSuccess) return error;
  const KernelEntry& kernel = *kernel_of(static_cast<uint32_t>(arguments[0]));
  if (parameter_bytes != kernel.facts.parameter_bytes) return cudaErrorInvalidValue;
  return check_launch(kernel, launch);
}

// A launch's configuration without its kernel's parameters. Its grid may be empty.
cudaError_t CallServer::ask_of_clusters(const Call& call) {
  LaunchCall launch;
  std::vector<cudaLaunchAttribute> attributes;
  size_t parameter_bytes = 0;
  cudaError_t error =
      read_configuration(call.record.arguments, call.data, launch, attributes, parameter_bytes);
  if (error != cudaSuccess) return error;
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const auto& [bx, by, bz] = launch.block;
  if (parameter_bytes != 0 || threads == 0 || std::max({bx, by, bz}) > kMostThreads || threads > kMostThreads)
    return cudaErrorInvalidValue;
  int answer = 0;
  error = call.op() == Op::active_clusters ? backend_.active_clusters(launch, answer)
                                           : backend_.largest_cluster(launch, answer);
  values_[0] = static_cast<uint64_t>(answer);
  return error;
}

cudaError_t CallServer::launch(const Call& call) {
  LaunchCall launch;
  std::vector<cudaLaunchAttribute> attributes;
  size_t parameter_bytes = 0;
  if (!stream_of(call.high(0), launch.stream)) return cudaErrorInvalidResourceHandle;
  const cudaError_t error =
      read_launch(call.record.arguments, call.data, launch, attributes, parameter_bytes);
  if (error != cudaSuccess) return error;
  if (is_over_limit()) return cudaErrorMemoryAllocation;
  ++launches_;
  if (on_work_) on_work_(Op::launch);
  if (work_.is_following()) work_.add(launch.stream, "kernel", kernel_of(call.low(0))->name);
  if (writers_.is_following()) writers_.launch(call.data.first(parameter_bytes), owned_);
  return backend_.launch(launch, call.data.first(parameter_bytes));
}

}  // namespace warpgrade::executor
