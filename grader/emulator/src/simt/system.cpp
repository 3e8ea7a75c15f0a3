// What talks to the outside: clocks, printf, assert, trap, fences, nanosleep.
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "check/diagnose.h"
#include "check/global_races.h"
#include "exec/handlers.h"
#include "memory/device_memory.h"
#include "program/program.h"
#include "state/launch.h"
#include "state/stack.h"

namespace warpgrade::emu {
namespace {

enum ClockKind : uint8_t { kCycles, kCyclesHigh, kNanoseconds, kNanosecondsHigh };

uint64_t cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  timespec now;  // processors without a counter of cycles that programs may read: nanoseconds stand in
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
#endif
}

void read_clock(Warp& w, const Inst& i) {
  uint64_t value = cycles();
  if (i.variant == kNanoseconds || i.variant == kNanosecondsHigh) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    value = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  }
  if (i.variant == kCyclesHigh || i.variant == kNanosecondsHigh) value >>= 32;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    std::memcpy(w.regs + i.d + static_cast<uint32_t>(__builtin_ctz(m)) * i.reg_bytes, &value, i.reg_bytes);
  }
}

void nothing(Warp&, const Inst&) {}

void fence(Warp& w, const Inst& i) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (i.variant == kDeviceFence && w.worker->race_check) w.block->launch->global_races->fence(w);
}

// A sleeping thread gives way at once.
void nanosleep_lanes(Warp& w, const Inst&) {
  w.stop = Stop::yielded;
  w.block->patient_yield = true;
}

// Cooperative groups trap at a grid's barrier when the launch gave none.
bool wants_grid_barrier(const Warp& w) {
  const auto& specials = w.block->program->warp_specials;
  return w.block->launch->workspace_address == 0 &&
         std::any_of(specials.begin(), specials.end(),
                     [](const SpecialRegister& s) { return s.what == Special::workspace_low; });
}

void trap(Warp& w, const Inst& i) {
  Diagnostic d = diagnose(w, i, static_cast<uint32_t>(__builtin_ctz(w.mask)), Finding::trap);
  d.message += "the kernel executed a trap";
  d.advice = "The kernel reached a __trap(), or a library's check refused the arguments.";
  if (wants_grid_barrier(w)) {
    d.advice =
        "Blocks can meet (this_grid().sync()) only in a kernel that cudaLaunchCooperativeKernel started.";
  }
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::launch_failure);
  w.stop = Stop::aborted;
}

// A lane's generic address as host memory with the bytes that follow it inside its allocation; {nullptr,
// 0} if bad.
struct HostSpan {
  const char* data;
  size_t bytes;
};

HostSpan host_span(const Warp& w, uint32_t lane, uint64_t address) {
  const Block& block = *w.block;
  const uint64_t tag = address & kTagMask, offset = address & ~kTagMask;
  if (tag == kLocalTag) {
    const uint64_t own = address - local_window(w, lane);
    const size_t stride = block.stack_bytes;
    if (own >= stride) return {nullptr, 0};
    return {reinterpret_cast<const char*>(w.local) + stride * lane + own, stride - own};
  }
  if (tag == kSharedTag && offset < block.shared_bytes) {
    return {reinterpret_cast<const char*>(block.shared) + offset, block.shared_bytes - offset};
  }
  const auto a = DeviceMemory::instance().find(address);
  if (!a || a->freed || address >= a->end) return {nullptr, 0};
  return {reinterpret_cast<const char*>(a->host(address)), a->end - address};
}

std::string text_at(const Warp& w, uint32_t lane, uint64_t address) {
  const HostSpan span = host_span(w, lane, address);
  return span.data == nullptr ? "(bad string)" : std::string(span.data, strnlen(span.data, span.bytes));
}

// Reads the arguments that the compiler stored for vprintf, each aligned to its size.
class PrintfArguments {
 public:
  explicit PrintfArguments(HostSpan span) : span_(span) {}

  template <class T>
  T take() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (at_ + sizeof(T) <= span_.bytes) std::memcpy(&value, span_.data + at_, sizeof value);
    at_ += sizeof(T);
    return value;
  }

 private:
  HostSpan span_;
  size_t at_ = 0;
};

std::string formatted(const char* format, auto value) {
  char buffer[512];
  const int n = std::snprintf(buffer, sizeof buffer, format, value);
  return std::string(buffer, static_cast<size_t>(std::min<int>(n, sizeof buffer - 1)));
}

std::string format_one(const Warp& w, uint32_t lane, std::string spec, char conversion,
                       PrintfArguments& arguments) {
  while (spec.find('*') != std::string::npos) {
    spec.replace(spec.find('*'), 1, std::to_string(arguments.take<int32_t>()));
  }
  const bool is_long = spec.find('l') != std::string::npos || spec.find('z') != std::string::npos ||
                       spec.find('j') != std::string::npos || spec.find('t') != std::string::npos;
  const std::string full = spec + conversion;
  if (std::strchr("fFeEgGaA", conversion) != nullptr)
    return formatted(full.c_str(), arguments.take<double>());
  if (conversion == 's') return formatted(full.c_str(), text_at(w, lane, arguments.take<uint64_t>()).c_str());
  if (conversion == 'p') return formatted(full.c_str(), reinterpret_cast<void*>(arguments.take<uint64_t>()));
  if (is_long) return formatted(full.c_str(), arguments.take<uint64_t>());
  return formatted(full.c_str(), arguments.take<uint32_t>());
}

std::string format_lane(const Warp& w, uint32_t lane, const std::string& format, PrintfArguments arguments) {
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", at + 1);
    if (end == std::string::npos) return out + format.substr(at);
    if (format[end] == '%') {
      out += '%';
    } else {
      out += format_one(w, lane, format.substr(at, end - at), format[end], arguments);
    }
    at = end + 1;
  }
  return out;
}

// vec: offsets in the frame of the format's address, the arguments' address and the result.
void print(Warp& w, const Inst& i) {
  std::string out;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const std::string format = text_at(w, l, stack_word(w, i, l, i.vec[0], 8));
    out += format_lane(w, l, format, PrintfArguments(host_span(w, l, stack_word(w, i, l, i.vec[1], 8))));
  }
  Launch& launch = *w.block->launch;
  const std::lock_guard lock(launch.findings_mutex);
  if (launch.trial) {
    launch.printed += out;  // the launch may be run again
    return;
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
}

// __assertfail(message, file, line, function, char size)
void assert_failed(Warp& w, const Inst& i) {
  const auto l = static_cast<uint32_t>(__builtin_ctz(w.mask));
  const std::string message = text_at(w, l, stack_word(w, i, l, i.vec[0], 8));
  const std::string file = text_at(w, l, stack_word(w, i, l, i.vec[1], 8));
  const auto line = static_cast<uint32_t>(stack_word(w, i, l, i.vec[2], 4));
  Diagnostic d = diagnose(w, i, l, Finding::assert);
  d.path = file;
  d.line = line;
  d.message = "assertion `" + message + "` failed";
  d.advice = "The condition was false for this thread.";
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::device_assert);
  w.stop = Stop::aborted;
}

}  // namespace

void add_system_handlers(HandlerTable& t) {
  t.add(read_clock, "clock");
  t.add(nothing, "nop");
  t.add(fence, "fence");
  t.add(nanosleep_lanes, "nanosleep");
  t.add(trap, "trap");
  t.add(print, "vprintf");
  t.add(assert_failed, "__assertfail");
}

}  // namespace warpgrade::emu
