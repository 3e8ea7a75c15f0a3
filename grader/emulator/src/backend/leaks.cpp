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

void report(const Allocation& a, const cudart::HostPlace& place, const char* when, size_t count,
            uint64_t bytes) {
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

namespace {

// Of those that were noted. Nothing after a fault: then nothing can be freed.
std::vector<Allocation> leaked_allocations() {
  std::vector<Allocation> leaked;
  if (!settings().leak_check || Emulated::instance().sticky() != cudaSuccess) return leaked;
  const auto allocations = DeviceMemory::instance().snapshot();
  for (const Allocation& a : *allocations) {
    if (!a.freed && ledger().made_at.contains(a.begin)) leaked.push_back(a);
  }
  return leaked;
}

template <typename PlaceOf>
void report_all(const char* when, PlaceOf place_of) {
  const std::vector<Allocation> leaked = leaked_allocations();
  uint64_t bytes = 0;
  for (const Allocation& a : leaked) bytes += a.bytes();
  for (size_t k = 0; k < std::min(leaked.size(), kMostReports); ++k)
    report(leaked[k], place_of(leaked[k].begin), when, leaked.size(), bytes);
  if (settings().leak_check && Emulated::instance().sticky() == cudaSuccess) ledger().made_at.clear();
}

}  // namespace

void report_leaks(const char* when) {
  const std::lock_guard lock(ledger().mutex);
  report_all(when, [](uint64_t address) { return host_place(ledger().made_at[address]); });
}

std::vector<uint64_t> leaked_addresses() {
  const std::lock_guard lock(ledger().mutex);
  std::vector<uint64_t> addresses;
  for (const Allocation& a : leaked_allocations()) {
    if (addresses.size() < kMostReports) addresses.push_back(a.begin);
  }
  return addresses;
}

void report_leaks(const char* when, const std::map<uint64_t, cudart::HostPlace>& places) {
  const std::lock_guard lock(ledger().mutex);
  report_all(when, [&](uint64_t address) {
    const auto found = places.find(address);
    return found != places.end() ? found->second : cudart::HostPlace{};
  });
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
  if (places_come_from_elsewhere()) {
    ledger().made_at[address] = {};
    return;
  }
  ledger().made_at[address] = cudart::call_stack();
}

}  // namespace warpgrade::emu
