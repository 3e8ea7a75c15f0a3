#include "backend/leaks.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "backend/emulated.h"
#include "backend/host_finding.h"
#include "cudart/host_place.h"
#include "memory/device_memory.h"
#include "report/diagnostics.h"
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

void report(const Allocation& a, const std::vector<void*>& stack, const char* when, size_t count,
            uint64_t bytes) {
  const cudart::HostPlace place = host_place(stack);
  Diagnostic d;
  d.kind = Finding::device_memory_leak;
  d.path = place.path;
  d.line = place.line;
  d.allocation = DiagnosedAllocation{a.name, a.bytes(), 0};
  d.message = a.name + " (" + std::to_string(a.bytes()) + " bytes) was " + when;
  if (count > 1) {
    d.message +=
        "; in all " + std::to_string(count) + " allocations with " + std::to_string(bytes) + " bytes";
  }
  d.advice = "Call cudaFree for each allocation once the last kernel that uses it has ended.";
  Diagnostics::instance().add(std::move(d));
}

}  // namespace

void report_leaks(const char* when) {
  if (!settings().leak_check || Emulated::instance().sticky() != cudaSuccess)
    return;  // after a fault nothing can be freed
  const std::lock_guard lock(ledger().mutex);
  auto& made_at = ledger().made_at;
  uint64_t bytes = 0;
  const auto allocations = DeviceMemory::instance().snapshot();
  std::vector<const Allocation*> leaked;
  for (const Allocation& a : *allocations) {
    if (a.freed || !made_at.contains(a.begin)) continue;
    bytes += a.bytes();
    leaked.push_back(&a);
  }
  for (size_t k = 0; k < std::min(leaked.size(), kMostReports); ++k)
    report(*leaked[k], made_at[leaked[k]->begin], when, leaked.size(), bytes);
  made_at.clear();
}

void report_leaks_of_program() {
  report_leaks("never freed");
}

void forget_allocations() {
  const std::lock_guard lock(ledger().mutex);
  ledger().made_at.clear();
}

void note_allocation(uint64_t address) {
  if (!settings().leak_check) return;
  const std::lock_guard lock(ledger().mutex);
  static const int registered = std::atexit(report_leaks_of_program);
  static_cast<void>(registered);
  ledger().made_at[address] = cudart::call_stack();
}

}  // namespace warpgrade::emu
