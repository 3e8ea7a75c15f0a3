#include "runtime/leaks.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "memory/device_memory.h"
#include "runtime/errors.h"
#include "runtime/host_place.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostReports = 5;

struct Ledger {
  std::mutex mutex;
  std::map<uint64_t, std::vector<void*>> made_at;  // by address: the calls that led to cudaMalloc
};

Ledger& ledger() {
  static auto* instance = new Ledger;
  return *instance;
}

void report(const Allocation& a, const std::vector<void*>& stack, size_t count, uint64_t bytes) {
  const HostPlace place = place_of_call(stack);
  Diagnostic d;
  d.kind = Finding::device_memory_leak;
  d.path = place.path;
  d.line = place.line;
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), 0};
  d.message = a.name + " (" + std::to_string(a.bytes()) + " bytes) was never freed";
  if (count > 1) {
    d.message +=
        "; in all " + std::to_string(count) + " allocations with " + std::to_string(bytes) + " bytes";
  }
  d.advice = "Call cudaFree for each allocation once the last kernel that uses it has ended.";
  Diagnostics::instance().add(std::move(d));
}

}  // namespace

void report_leaks() {
  if (sticky() != cudaSuccess) return;  // nothing could be freed any more
  const std::lock_guard lock(ledger().mutex);
  size_t count = 0;
  uint64_t bytes = 0;
  const auto allocations = DeviceMemory::instance().snapshot();
  std::vector<const Allocation*> leaked;
  for (const Allocation& a : *allocations) {
    if (a.freed || !ledger().made_at.contains(a.begin)) continue;
    ++count;
    bytes += a.bytes();
    leaked.push_back(&a);
  }
  for (size_t k = 0; k < std::min(leaked.size(), kMostReports); ++k)
    report(*leaked[k], ledger().made_at[leaked[k]->begin], count, bytes);
}

void note_allocation(uint64_t address) {
  if (!settings().leak_check) return;
  const std::lock_guard lock(ledger().mutex);
  static const int registered = std::atexit(report_leaks);
  static_cast<void>(registered);
  ledger().made_at[address] = call_stack();
}

}  // namespace warpgrade::emu
