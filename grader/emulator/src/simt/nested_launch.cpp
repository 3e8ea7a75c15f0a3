// Launches, copies and fills that kernels ask for. They are checked here, where the asking thread is known,
// and carried out when the grid has ended (state/nested.h).
#include <algorithm>
#include <cstdio>
#include <mutex>

#include "check/diagnose.h"
#include "cudart/register_limit.h"
#include "exec/handlers.h"
#include "memory/device_heap.h"
#include "program/program.h"
#include "simt/device_call.h"
#include "state/launch.h"
#include "support/device_model.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kTailStream = 3, kPendingLaunchLimit = 4;  // cudaStreamTailLaunch; of cudaLimit
constexpr uint32_t kMostGridX = 0x7fffffff, kMostGridYZ = 65535, kMostBlockZ = 64;

std::string sizes_text(const uint32_t* v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

// Calls stand in an inline function of a header, of which there is nothing to say.
Diagnostic diagnostic_at(const DeviceCall& c, Finding kind) {
  Diagnostic d = diagnose(c.w, c.i, c.lane, kind);
  d.message.clear();
  return d;
}

// Which number of a launch is wrong; empty where all are right.
std::string what_is_wrong(const NestedGrid& g, const NestedKernel& kernel) {
  struct Number {
    std::string what;
    uint64_t is, least, most;
  };
  const uint64_t threads = uint64_t(g.block[0]) * g.block[1] * g.block[2];
  const uint32_t registers = kernel.program->registers;
  if (threads <= kMaxThreadsPerBlock &&
      threads > cudart::most_threads_by_registers(registers, kRegistersPerBlock))
    return "its block takes too many registers: " +
           cudart::register_sum(registers, static_cast<uint32_t>(threads), kRegistersPerBlock);
  const Number numbers[] = {
      {"the grid's x", g.grid[0], 1, kMostGridX},
      {"the grid's y", g.grid[1], 1, kMostGridYZ},
      {"the grid's z", g.grid[2], 1, kMostGridYZ},
      {"the block's x", g.block[0], 1, uint64_t(kMaxThreadsPerBlock)},
      {"the block's y", g.block[1], 1, uint64_t(kMaxThreadsPerBlock)},
      {"the block's z", g.block[2], 1, kMostBlockZ},
      {"the number of threads in a block", threads, 1,
       std::min<uint64_t>(kMaxThreadsPerBlock, kernel.program->max_threads)},
      {"the number of bytes of dynamic shared memory", g.dynamic_shared, 0, kernel.max_dynamic_shared}};
  for (const Number& n : numbers) {
    if (n.is < n.least) return n.what + " is " + std::to_string(n.is) + ", and must be at least 1";
    if (n.is > n.most)
      return n.what + " is " + std::to_string(n.is) + ", and must be at most " + std::to_string(n.most);
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (g.grid[axis] % kernel.cluster[axis] != 0)
      return "the grid is " + sizes_text(g.grid) + ", and must be a multiple of the cluster, which is " +
             sizes_text(kernel.cluster);
  }
  return {};
}

// A launch that is refused leaves nothing but an error code, which many programs never look at.
void refuse(const DeviceCall& c, CallError error, const std::string& why, const std::string& advice) {
  constexpr uint32_t kMostTold = 1000;  // of a grid: one that tries again and again would fill the memory
  if (++c.w.block->launch->refusals > kMostTold) return c.end(error);
  Diagnostic d = diagnostic_at(c, Finding::invalid_launch);
  d.message += "the child grid was not started: " + why;
  d.advice = advice;
  c.w.block->launch->report(*c.w.block, std::move(d));
  c.end(error);
}

void end_launch(const DeviceCall& c, Diagnostic d, Fault fault) {
  c.w.block->launch->report(*c.w.block, std::move(d));
  c.w.block->launch->fail(*c.w.block, fault);
  c.w.stop = Stop::aborted;
}

// The kernel at an address; empty when there is none that can run, which has been reported.
std::optional<NestedKernel> kernel_at(const DeviceCall& c, uint64_t address) {
  const auto kernel = c.runtime().kernel(address);
  if (!kernel) {
    Diagnostic d = diagnostic_at(c, Finding::bad_call);
    d.address = address;
    d.message += address == 0 ? "launches a kernel through a null pointer"
                              : "launches a kernel at an address at which none of this program begins";
    d.advice = "A pointer to a kernel must be taken in device code: the host's does not work there.";
    end_launch(c, std::move(d), Fault::invalid_pc);
    return std::nullopt;
  }
  if (kernel->program == nullptr) {
    end_launch(c, c.runtime().problem(address), Fault::not_supported);
    return std::nullopt;
  }
  return kernel;
}

NestedWork work_of(const DeviceCall& c) {
  const Block& block = *c.w.block;
  NestedWork work;
  work.block = block.linear;
  work.depth = block.launch->depth;
  work.place = c.place();
  return work;
}

void too_much_waits(const DeviceCall& c, const std::string& what) {
  refuse(c, CallError::pending_count_exceeded, what,
         "Launch fewer grids before the parent ends, or raise cudaLimitDevRuntimePendingLaunchCount with "
         "cudaDeviceSetLimit.");
}

// More than the limit may work where grids start while their parent runs; nobody can tell here.
void note_many(const Launch& launch) {
  static std::once_flag once;
  if (settings().quiet) return;
  std::call_once(once, [&] {
    std::fprintf(
        stderr,
        "emulator: note: a grid of %s launches more grids than cudaLimitDevRuntimePendingLaunchCount: "
        "on a GPU a launch fails when so many wait at once\n",
        launch.program->title.c_str());
  });
}

bool has_room(const DeviceCall& c, bool tail) {
  Launch& launch = *c.w.block->launch;
  uint64_t limit = 0;
  if (c.runtime().limit(kPendingLaunchLimit, limit) != CallError::none) return true;
  uint64_t waiting = 0, tails = 0;
  {
    const std::lock_guard lock(launch.findings_mutex);
    waiting = launch.nested.size();
    tails = tail ? ++launch.tail_launches : 0;
  }
  if (waiting == limit) note_many(launch);
  return tails <= limit;  // tail launches wait for the parent's end on a GPU as well
}

void enqueue(const DeviceCall& c, NestedGrid grid, uint64_t stream) {
  const auto kernel = kernel_at(c, grid.kernel);
  if (!kernel) return;
  if (!is_stream(c, stream))
    return refuse(
        c, CallError::invalid_resource_handle, "its stream was not created by this block",
        "A stream that a kernel creates can be used by its own block alone, until it is destroyed.");
  if (const std::string wrong = what_is_wrong(grid, *kernel); !wrong.empty())
    return refuse(c, CallError::invalid_configuration,
                  wrong + " (grid " + sizes_text(grid.grid) + ", block " + sizes_text(grid.block) + ", " +
                      std::to_string(grid.dynamic_shared) +
                      " bytes of dynamic shared memory; cudaErrorInvalidConfiguration)",
                  "Check cudaGetLastError() after each launch, in kernels as well.");
  NestedWork work = work_of(c);
  work.tail = stream == kTailStream;
  // What follows a grid is no deeper than the grid itself.
  work.depth += work.tail ? 0 : 1;
  if (work.depth > kDeepestNesting)
    return refuse(
        c, CallError::depth_exceeded,
        "grids nest at most " + std::to_string(kDeepestNesting) + " deep (cudaErrorLaunchMaxDepthExceeded)",
        "Does the recursion end for every input? Pass the depth along and stop in time.");
  if (!has_room(c, work.tail))
    return too_much_waits(c, "this grid has launched more tail grids than can wait for its end");
  work.what = std::move(grid);
  if (!c.w.block->launch->add_nested(std::move(work)))
    return too_much_waits(c, "the grids that wait take more than 512 MiB");
  c.end(CallError::none);
}

// __cudaCDP2GetParameterBufferV2(function, grid, block, shared bytes)
void get_buffer_v2(const DeviceCall& c) {
  ParameterBuffers::Request request;
  request.grid.kernel = c.wide(0);
  c.triple(1, request.grid.grid);
  c.triple(2, request.grid.block);
  request.grid.dynamic_shared = c.word(3);
  const auto kernel = kernel_at(c, request.grid.kernel);
  if (!kernel) return;
  request.bytes = kernel->program->param_bytes;
  const uint64_t address = ParameterBuffers::instance().take(request);
  if (address == 0) c.w.last_error[c.lane] = static_cast<uint32_t>(CallError::pending_count_exceeded);
  c.give(address);
}

// __cudaCDP2GetParameterBuffer(alignment, bytes)
void get_buffer(const DeviceCall& c) {
  ParameterBuffers::Request request;
  request.bytes = c.wide(1);
  const bool fits = request.bytes <= ParameterBuffers::kMostBytes;
  c.give(fits ? ParameterBuffers::instance().take(request) : uint64_t{0});
}

// __cudaCDP2LaunchDeviceV2(buffer, stream)
void launch_v2(const DeviceCall& c) {
  auto request = ParameterBuffers::instance().give_back(c.wide(0));
  if (!request) return c.end(CallError::invalid_value);
  enqueue(c, std::move(request->grid), c.wide(1));
}

// __cudaCDP2LaunchDevice(function, buffer, grid, block, shared bytes, stream)
void launch(const DeviceCall& c) {
  NestedGrid grid;
  if (auto request = ParameterBuffers::instance().give_back(c.wide(1))) grid = std::move(request->grid);
  grid.kernel = c.wide(0);
  c.triple(2, grid.grid);
  c.triple(3, grid.block);
  grid.dynamic_shared = c.word(4);
  if (const auto kernel = c.runtime().kernel(grid.kernel); kernel && kernel->program != nullptr)
    grid.parameters.resize(kernel->program->param_bytes);
  enqueue(c, std::move(grid), c.wide(5));
}

// What is wrong with bytes that a copy or fill names; empty where nothing is.
std::string what_is_wrong_with(uint64_t address, uint64_t bytes, Finding& kind) {
  kind = Finding::out_of_bounds;
  if ((address & kTagMask) == kSharedTag || (address & kTagMask) == kLocalTag)
    return "shared memory or a local variable, which other grids cannot reach";
  auto a = DeviceMemory::instance().find(address);
  if (a && a->kind == MemoryKind::heap) a = DeviceHeap::instance().named(*a, address);
  if (!a || address < a->begin) return "an address that no allocation holds";
  if (a->freed) {
    kind = Finding::use_after_free;
    return a->name + ", which was freed";
  }
  if (address > a->end || bytes > a->end - address)
    return std::to_string(bytes) + " bytes from byte " + std::to_string(address - a->begin) + " on of " +
           a->name + " (" + std::to_string(a->bytes()) + " bytes)";
  return {};
}

// False when the range is wrong, which has ended the launch.
bool check_range(const DeviceCall& c, const char* verb, uint64_t address, uint64_t pitch, uint64_t width,
                 uint64_t height) {
  if (width == 0 || height == 0) return true;
  Finding kind;
  const std::string wrong = what_is_wrong_with(address, pitch * (height - 1) + width, kind);
  if (wrong.empty()) return true;
  Diagnostic d = diagnostic_at(c, kind);
  d.address = address;
  d.message += std::string(verb) + " " + wrong;
  d.advice = "Check the pointer and the size of the call at this line.";
  end_launch(c, std::move(d), Fault::illegal_address);
  return false;
}

void enqueue_transfer(const DeviceCall& c, std::variant<NestedGrid, NestedCopy, NestedFill> what,
                      uint64_t stream) {
  if (!is_stream(c, stream)) return c.end(CallError::invalid_resource_handle);
  NestedWork work = work_of(c);
  work.tail = stream == kTailStream;
  work.what = std::move(what);
  const bool added = c.w.block->launch->add_nested(std::move(work));
  c.end(added ? CallError::none : CallError::pending_count_exceeded);
}

void copy_rows(const DeviceCall& c, const NestedCopy& copy, uint64_t stream) {
  if (copy.height > 1 && (copy.width > copy.to_pitch || copy.width > copy.from_pitch))
    return c.end(CallError::invalid_value);
  if (!check_range(c, "writes", copy.to, copy.to_pitch, copy.width, copy.height)) return;
  if (!check_range(c, "reads", copy.from, copy.from_pitch, copy.width, copy.height)) return;
  enqueue_transfer(c, copy, stream);
}

void fill_rows(const DeviceCall& c, const NestedFill& fill, uint64_t stream) {
  if (fill.height > 1 && fill.width > fill.pitch) return c.end(CallError::invalid_value);
  if (!check_range(c, "writes", fill.to, fill.pitch, fill.width, fill.height)) return;
  enqueue_transfer(c, fill, stream);
}

// (to, from, bytes, kind, stream); (to, pitch, from, pitch, width, height, kind, stream)
void copy(const DeviceCall& c) {
  copy_rows(c, {c.wide(0), c.wide(1), 0, 0, c.wide(2), 1}, c.wide(4));
}
void copy_2d(const DeviceCall& c) {
  copy_rows(c, {c.wide(0), c.wide(2), c.wide(1), c.wide(3), c.wide(4), c.wide(5)}, c.wide(7));
}

// (to, value, bytes, stream); (to, pitch, value, width, height, stream)
void fill(const DeviceCall& c) {
  fill_rows(c, {c.wide(0), 0, c.wide(2), 1, static_cast<uint8_t>(c.word(1))}, c.wide(3));
}
void fill_2d(const DeviceCall& c) {
  fill_rows(c, {c.wide(0), c.wide(1), c.wide(3), c.wide(4), static_cast<uint8_t>(c.word(2))}, c.wide(5));
}

}  // namespace

void add_nested_launch_handlers(HandlerTable& t) {
  t.add(each_lane_calls<get_buffer>, "__cudaCDP2GetParameterBuffer");
  t.add(each_lane_calls<get_buffer_v2>, "__cudaCDP2GetParameterBufferV2");
  t.add(each_lane_calls<launch>, "__cudaCDP2LaunchDevice");
  t.add(each_lane_calls<launch_v2>, "__cudaCDP2LaunchDeviceV2");
  t.add(each_lane_calls<copy>, "__cudaCDP2MemcpyAsync");
  t.add(each_lane_calls<copy_2d>, "__cudaCDP2Memcpy2DAsync");
  t.add(each_lane_calls<fill>, "__cudaCDP2MemsetAsync");
  t.add(each_lane_calls<fill_2d>, "__cudaCDP2Memset2DAsync");
}

}  // namespace warpgrade::emu
