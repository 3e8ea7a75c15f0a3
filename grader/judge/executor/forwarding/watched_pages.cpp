#include "judge/executor/forwarding/watched_pages.h"

#include <execinfo.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <mutex>

#include "cudart/host_fault.h"
#include "judge/executor/wire.h"

namespace warpgrade::executor {
namespace {

constexpr size_t kMostRanges = 64, kMostTouches = 16, kMostFrames = 24;

// A signal handler reads these: no lock, no allocation. A range ends when its `end` is 0.
struct Range {
  std::atomic<uint64_t> begin{0}, end{0};
};
std::array<Range, kMostRanges> g_ranges;
struct Noted {
  std::atomic<bool> is_complete{false};
  uint64_t address = 0;
  bool is_write = false;
  int frames = 0;
  std::array<void*, kMostFrames> stack{};
};
std::array<Noted, kMostTouches> g_noted;
std::atomic<size_t> g_count{0};
std::atomic<bool> g_is_watching{false};
std::mutex g_mutex;  // of those who watch and leave alone

void allow(Range& range) {
  const uint64_t end = range.end.exchange(0), begin = range.begin.load();
  if (end > begin) mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE);
}

bool on_touch(uint64_t address, bool is_write) {
  if (!g_is_watching.load()) return false;
  bool is_ours = false;
  for (Range& range : g_ranges) {
    if (address < range.begin.load() || address >= range.end.load()) continue;
    is_ours = true;
    allow(range);
  }
  if (!is_ours) {
    // Another thread has just met the same range, and may not have opened it yet.
    const bool is_window =
        address >= wire::kWindowAddress && address < wire::kWindowAddress + wire::kWindowBytes;
    void* page = reinterpret_cast<void*>(address / wire::kPage * wire::kPage);
    return is_window && mprotect(page, wire::kPage, PROT_READ | PROT_WRITE) == 0;
  }
  const size_t place = g_count.fetch_add(1);
  if (place >= kMostTouches) return true;
  Noted& noted = g_noted[place];
  noted.address = address;
  noted.is_write = is_write;
  noted.frames = backtrace(noted.stack.data(), kMostFrames);
  noted.is_complete.store(true);
  return true;
}

}  // namespace

void watch_pages(uint64_t begin, uint64_t end) {
  begin = begin / wire::kPage * wire::kPage;
  end = (end + wire::kPage - 1) / wire::kPage * wire::kPage;
  const std::lock_guard lock(g_mutex);
  static const bool can_watch = [] {
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads what it needs: the handler must not
    return cudart::watch_host_touches(on_touch);
  }();
  if (!can_watch || !cudart::sees_host_faults()) return;
  Range* free = nullptr;
  for (Range& range : g_ranges) {
    const uint64_t known_end = range.end.load();
    if (known_end == 0) free = &range;
    if (known_end != 0 && range.begin.load() <= begin && end <= known_end) return;
  }
  if (free == nullptr) return;
  g_is_watching.store(true);
  free->begin.store(begin);
  free->end.store(end);
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_NONE) != 0) free->end.store(0);
}

void leave_pages_alone() {
  if (!g_is_watching.load()) return;
  const std::lock_guard lock(g_mutex);
  for (Range& range : g_ranges) allow(range);
}

std::vector<Touch> take_touches() {
  std::vector<Touch> touches;
  if (g_count.load() == 0) return touches;
  const std::lock_guard lock(g_mutex);
  for (Noted& noted : g_noted) {
    if (!noted.is_complete.exchange(false)) continue;
    touches.push_back({noted.address, noted.is_write,
                       std::vector<void*>(noted.stack.begin(), noted.stack.begin() + noted.frames)});
  }
  g_count.store(0);
  return touches;
}

}  // namespace warpgrade::executor
