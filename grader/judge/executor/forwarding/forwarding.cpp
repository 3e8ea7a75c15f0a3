#include "judge/executor/forwarding/forwarding.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cudart/host_place.h"
#include "judge/executor/forwarding/launch_record.h"
#include "judge/executor/forwarding/watched_pages.h"

namespace warpgrade::cudart {

// The host process has no driver: what its functions would do goes past the executor.
void* driver_function(const char*, int, unsigned long long, cudaDriverEntryPointQueryResult& status) {
  status = cudaDriverEntryPointSymbolNotFound;
  return nullptr;
}

Backend& backend() {
  return executor::Forwarding::instance();
}

}  // namespace warpgrade::cudart

namespace warpgrade::executor {
namespace {

using cudart::EventId;
using cudart::KernelFacts;
using cudart::KernelId;
using cudart::MemoryRange;
using cudart::ModuleId;
using cudart::StreamId;
using wire::Op;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Forwarding& Forwarding::instance() {
  // Never destroyed: programs call the runtime in their own static destructors.
  static Forwarding* forwarding = new Forwarding;
  return *forwarding;
}

namespace {

void tell_touches(Channel& channel) {
  for (const Touch& touch : take_touches())
    channel.post_touch(touch.address, touch.is_write, cudart::place_of_call(touch.stack));
}

}  // namespace

Forwarding::Forwarding() : channel_(Channel::open()) {
  if (channel_ == nullptr) return;
  channel_->before_calls(tell_touches);
  read_device();
}

void Forwarding::read_device() {
  const wire::Control& c = channel_->control();
  device_.name.assign(c.device_name, strnlen(c.device_name, sizeof c.device_name));
  std::memcpy(device_.uuid.data(), c.uuid, device_.uuid.size());
  device_.total_bytes = c.device_bytes;
  device_.driver_version = c.driver_version;
  device_.least_priority = c.least_priority;
  device_.greatest_priority = c.greatest_priority;
  std::copy(std::begin(c.attributes), std::end(c.attributes), device_.attributes.begin());
  if (c.device_end > c.device_begin && !forbid_host_access(c.device_begin, c.device_end - c.device_begin)) {
    std::fprintf(stderr, "executor: the addresses of the device's memory are taken in this process\n");
    std::abort();
  }
}

cudaError_t Forwarding::sticky() {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  if (channel_->is_lost()) return cudaErrorDevicesUnavailable;
  return static_cast<cudaError_t>(channel_->control().sticky.load(std::memory_order_relaxed));
}

cudaError_t Forwarding::take_late_error() {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  auto& late = channel_->control().late_error;
  if (late.load(std::memory_order_relaxed) == 0) return cudaSuccess;
  return static_cast<cudaError_t>(late.exchange(0));
}

// A reply that is good may follow a call that had gone wrong unnoticed.
cudaError_t Forwarding::call(Op op, Channel::Arguments arguments, Reply& reply,
                             std::span<const uint8_t> data) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  const cudaError_t error = channel_->call(op, arguments, reply, data);
  return error == cudaSuccess ? take_late_error() : error;
}

cudaError_t Forwarding::call(Op op, Channel::Arguments arguments) {
  Reply reply;
  return call(op, arguments, reply);
}

void Forwarding::report(const cudart::HostFinding& finding) {
  using Kind = cudart::HostFinding::Kind;
  const char* what = finding.kind == Kind::unsupported    ? "unsupported"
                     : finding.kind == Kind::invalid_copy ? "invalid_copy"
                                                          : "invalid_launch";
  const cudart::HostPlace place = cudart::place_of_call(cudart::call_stack(), finding.kernel);
  if (channel_ == nullptr || channel_->control().is_interpreted == 0) {  // the emulator says it by itself
    std::string text = std::string("executor: ") + what;
    if (place.line != 0)
      text += " at " + place.path.substr(place.path.rfind('/') + 1) + ":" + std::to_string(place.line);
    if (!finding.kernel.empty()) text += " in " + finding.kernel;
    text += "\n  " + finding.message + "\n  " + finding.advice;
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  if (channel_ == nullptr) return;
  std::string texts = finding.kernel;
  for (const std::string& text : {place.path, finding.message, finding.advice})
    texts += wire::kBetweenTexts + text;
  channel_->post(Op::report, {static_cast<uint64_t>(finding.kind), place.line, finding.bytes},
                 bytes_of(texts.substr(0, wire::kMostName)));
}

cudaError_t Forwarding::refuse(const std::string& what, const std::string& advice) {
  report({cudart::HostFinding::Kind::unsupported, "", "unsupported " + what, advice});
  return cudaErrorNotSupported;
}

// --- device code ---

cudaError_t Forwarding::stage(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), wire::kMostRecord - sizeof(wire::Record));
    if (const cudaError_t error = channel_->post(Op::stage, {}, bytes.first(part)); error != cudaSuccess)
      return error;
    bytes = bytes.subspan(part);
  }
  return cudaSuccess;
}

cudaError_t Forwarding::add_module(std::span<const std::span<const uint8_t>> containers, ModuleId& module) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  std::lock_guard lock(stage_mutex_);
  uint64_t all = 0;
  for (const std::span<const uint8_t> container : containers) {
    all += container.size();
    if (const cudaError_t error = stage(container); error != cudaSuccess) return error;
  }
  Reply reply;
  const cudaError_t error = call(Op::add_module, {all}, reply);
  module = static_cast<ModuleId>(reply.values[0]);
  return error;
}

cudaError_t Forwarding::find_variable(ModuleId module, const std::string& name, MemoryRange& variable) {
  Reply reply;
  const cudaError_t error = call(Op::find_variable, {module}, reply, bytes_of(name));
  if (error != cudaSuccess) return error;
  variable = {reply.values[0], reply.values[0] + reply.values[1], cudart::MemoryKind::other, false};
  note(variable);
  return cudaSuccess;
}

cudaError_t Forwarding::take_kernel(const Reply& reply, KernelId& kernel, KernelFacts& facts) {
  wire::Kernel k;
  if (reply.data.size() < sizeof k) return cudaErrorUnknown;
  std::memcpy(&k, reply.data.data(), sizeof k);
  if (reply.data.size() != sizeof k + k.parameters * sizeof(wire::Parameter)) return cudaErrorUnknown;
  kernel = k.id;
  facts = {};
  for (uint32_t p = 0; p < k.parameters; ++p) {
    wire::Parameter parameter;
    std::memcpy(&parameter, reply.data.data() + sizeof k + p * sizeof parameter, sizeof parameter);
    facts.parameters.push_back({parameter.offset, parameter.bytes});
  }
  facts.parameter_bytes = k.parameter_bytes;
  facts.max_threads = k.max_threads;
  facts.static_shared = k.static_shared;
  facts.constant_bytes = k.constant_bytes;
  facts.local_bytes = k.local_bytes;
  facts.registers = k.registers;
  facts.ptx_version = k.ptx_version;
  facts.binary_version = k.binary_version;
  facts.max_dynamic_shared = k.max_dynamic_shared;
  facts.preferred_carveout = k.preferred_carveout;
  std::copy_n(k.cluster, 3, facts.cluster.begin());
  facts.wide_clusters = k.wide_clusters;
  return cudaSuccess;
}

cudaError_t Forwarding::find_kernel(ModuleId module, const std::string& name, KernelId& kernel,
                                    KernelFacts& facts) {
  Reply reply;
  const cudaError_t error = call(Op::find_kernel, {module}, reply, bytes_of(name));
  if (error != cudaSuccess) return error;
  const cudaError_t taken = take_kernel(reply, kernel, facts);
  std::unique_lock lock(ranges_mutex_);
  if (taken == cudaSuccess) kernel_names_[kernel] = name;
  return taken;
}

std::string Forwarding::name_of_kernel(KernelId kernel) {
  if (channel_->control().is_interpreted == 0) return {};  // nobody asks for places
  std::shared_lock lock(ranges_mutex_);
  const auto found = kernel_names_.find(kernel);
  return found == kernel_names_.end() ? std::string() : found->second;
}

cudaError_t Forwarding::set_attribute(KernelId kernel, cudaFuncAttribute attribute, int value,
                                      KernelFacts& facts) {
  Reply reply;
  const cudaError_t error = call(
      Op::set_attribute,
      {kernel, static_cast<uint64_t>(attribute), static_cast<uint64_t>(static_cast<int64_t>(value))}, reply);
  KernelId same = 0;
  return error != cudaSuccess ? error : take_kernel(reply, same, facts);
}

cudaError_t Forwarding::occupancy(KernelId kernel, int threads, size_t dynamic_shared, unsigned flags,
                                  int& blocks) {
  Reply reply;
  const cudaError_t error =
      call(Op::occupancy, {kernel, static_cast<uint32_t>(threads), dynamic_shared, flags}, reply);
  blocks = static_cast<int>(reply.values[0]);
  return error;
}

cudaError_t Forwarding::available_shared(KernelId kernel, int blocks, int threads, size_t& bytes) {
  Reply reply;
  const cudaError_t error = call(
      Op::available_shared, {kernel, static_cast<uint32_t>(blocks), static_cast<uint32_t>(threads)}, reply);
  bytes = reply.values[0];
  return error;
}

cudaError_t Forwarding::ask_of_clusters(Op op, const cudart::LaunchCall& launch, int& answer) {
  if (const cudaError_t error = check_attributes(launch.attributes); error != cudaSuccess) return error;
  const LaunchRecord record(launch, launch.attributes, {});
  std::vector<uint8_t> bytes(record.bytes());
  record.write(bytes.data());
  const auto& a = record.arguments;
  Reply reply;
  const cudaError_t error = call(op, {a[0], a[1], a[2], a[3], a[4], a[5]}, reply, bytes);
  answer = static_cast<int>(reply.values[0]);
  return error;
}

cudaError_t Forwarding::active_clusters(const cudart::LaunchCall& launch, int& clusters) {
  return ask_of_clusters(Op::active_clusters, launch, clusters);
}

cudaError_t Forwarding::largest_cluster(const cudart::LaunchCall& launch, int& blocks) {
  return ask_of_clusters(Op::largest_cluster, launch, blocks);
}

// Attributes that hold handles or pointers of this process, or that do nothing without another device.
const char* Forwarding::refused_attribute(const cudaLaunchAttribute& attribute) {
  switch (static_cast<int>(attribute.id)) {
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributeClusterDimension:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case wire::kLaunchAttributePreferredCarveout:
      return nullptr;
    case cudaLaunchAttributeProgrammaticEvent:
      return "launch attribute cudaLaunchAttributeProgrammaticEvent";
    case cudaLaunchAttributeLaunchCompletionEvent:
      return "launch attribute cudaLaunchAttributeLaunchCompletionEvent";
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
      return "launch attribute cudaLaunchAttributeDeviceUpdatableKernelNode";
    default:
      return "launch attribute";
  }
}

cudaError_t Forwarding::check_attributes(std::span<const cudaLaunchAttribute> attributes) {
  for (const cudaLaunchAttribute& a : attributes) {
    if (const char* name = refused_attribute(a))
      return refuse(std::string(name) + " (" + std::to_string(a.id) + ")", "Launch the kernel without it.");
  }
  return attributes.size() > wire::kMostAttributes ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t Forwarding::launch(const cudart::LaunchCall& launch, std::span<const uint8_t> parameters) {
  if (channel_ == nullptr) return cudaErrorNoDevice;
  if (!launch.attributes.empty()) {
    if (const cudaError_t error = check_attributes(launch.attributes); error != cudaSuccess) return error;
  }
  if (const cudaError_t error = before_launch(launch.stream); error != cudaSuccess) return error;
  const LaunchRecord record(launch, launch.attributes, parameters);
  const auto& a = record.arguments;
  const Channel::Launching named(name_of_kernel(launch.kernel));
  const cudaError_t error = channel_->post(Op::launch, {a[0], a[1], a[2], a[3], a[4], a[5]}, record.bytes(),
                                           [&](uint8_t* at) { record.write(at); });
  if (error == cudaSuccess) watch_memory_of(parameters);
  return error;
}

// --- streams and events ---

cudaError_t Forwarding::create_stream(unsigned flags, int priority, StreamId& stream) {
  Reply reply;
  const cudaError_t error = call(Op::create_stream, {flags, static_cast<uint32_t>(priority)}, reply);
  stream = static_cast<StreamId>(reply.values[0]);
  return error;
}
cudaError_t Forwarding::destroy_stream(StreamId stream) {
  return call(Op::destroy_stream, {stream});
}
cudaError_t Forwarding::synchronize_stream(StreamId stream) {
  return after_waiting(call(Op::synchronize_stream, {stream}));
}
cudaError_t Forwarding::query_stream(StreamId stream) {
  return after_waiting(call(Op::query_stream, {stream}));
}
cudaError_t Forwarding::synchronize_device() {
  return after_waiting(call(Op::synchronize_device, {}));
}
cudaError_t Forwarding::create_event(unsigned flags, EventId& event) {
  Reply reply;
  const cudaError_t error = call(Op::create_event, {flags}, reply);
  event = static_cast<EventId>(reply.values[0]);
  return error;
}
cudaError_t Forwarding::destroy_event(EventId event) {
  return call(Op::destroy_event, {event});
}
cudaError_t Forwarding::record_event(EventId event, StreamId stream) {
  return channel_ == nullptr ? cudaErrorNoDevice : channel_->post(Op::record_event, {event, stream});
}
cudaError_t Forwarding::wait_event(StreamId stream, EventId event) {
  return channel_ == nullptr ? cudaErrorNoDevice : channel_->post(Op::wait_event, {stream, event});
}
cudaError_t Forwarding::synchronize_event(EventId event) {
  return after_waiting(call(Op::synchronize_event, {event}));
}
cudaError_t Forwarding::query_event(EventId event) {
  return after_waiting(call(Op::query_event, {event}));
}
cudaError_t Forwarding::elapsed(EventId start, EventId end, float& milliseconds) {
  Reply reply;
  const cudaError_t error = call(Op::elapsed, {start, end}, reply);
  const auto bits = static_cast<uint32_t>(reply.values[0]);
  std::memcpy(&milliseconds, &bits, sizeof milliseconds);
  return error;
}

cudaError_t Forwarding::create_image(const cudart::Image& image, uint64_t& object) {
  Reply reply;
  const std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(&image), sizeof image};
  const cudaError_t error = call(Op::create_image, {}, reply, bytes);
  if (error == cudaSuccess) object = reply.values[0];
  return error;
}
cudaError_t Forwarding::destroy_image(uint64_t object, bool is_surface) {
  return call(Op::destroy_image, {object, is_surface ? 1u : 0u});
}

cudaError_t Forwarding::set_limit(cudaLimit limit, size_t value) {
  return call(Op::set_limit, {static_cast<uint64_t>(limit), value});
}
cudaError_t Forwarding::get_limit(cudaLimit limit, size_t& value) {
  Reply reply;
  const cudaError_t error = call(Op::get_limit, {static_cast<uint64_t>(limit)}, reply);
  if (error == cudaSuccess) value = reply.values[0];
  return error;
}

}  // namespace warpgrade::executor
