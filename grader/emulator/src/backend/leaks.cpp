#include "backend/leaks.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "backend/emulated.h"
#include "backend/host_finding.h"
#include "cudart/allocated_name.h"
#include "cudart/host_place.h"
#include "findings/diagnostics.h"
#include "memory/device_memory.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostReports = 5;

struct Ledger {
  std::mutex mutex;
  // By address: the calls that led to cudaMalloc, where they are of this process.
  std::map<uint64_t, std::vector<void*>> made_at;
  std::set<uint64_t> watched;  // those whose leaks are looked for
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
    if (!a.freed && ledger().watched.contains(a.begin)) leaked.push_back(a);
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
  if (settings().leak_check && Emulated::instance().sticky() == cudaSuccess) ledger().watched.clear();
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
  ledger().watched.clear();
}

uint64_t address_of_allocation(const std::string& name) {
  const auto allocations = DeviceMemory::instance().snapshot();
  const auto found = std::find_if(allocations->begin(), allocations->end(),
                                  [&](const Allocation& a) { return a.name == name; });
  return found == allocations->end() ? 0 : found->begin;
}

namespace {

// The program's own name of an allocation, from the source where that can be read.
void name_allocations(Diagnostic& diagnostic) {
  for (const std::string& allocation : allocations_in(diagnostic)) {
    std::vector<void*> stack;
    {
      const uint64_t address = address_of_allocation(allocation);
      const std::unique_lock lock(ledger().mutex, std::try_to_lock);  // held while leaks are told
      const auto found = ledger().made_at.find(address);
      if (found == ledger().made_at.end()) continue;
      stack = found->second;
    }
    const cudart::HostPlace place = host_place(stack);
    if (place.line == 0) continue;
    std::ifstream file(place.path);
    std::vector<std::string> lines;
    for (std::string line; lines.size() < place.line && std::getline(file, line);) lines.push_back(line);
    const std::string name = cudart::name_in_allocation(lines, place.line);
    diagnostic.made_at.push_back({allocation, place.path, place.line});
    if (name.empty()) continue;
    diagnostic.message = cudart::with_name(diagnostic.message, allocation, name);
    diagnostic.advice = cudart::with_name(diagnostic.advice, allocation, name);
  }
}

}  // namespace

void note_allocation(uint64_t address) {
  const std::lock_guard lock(ledger().mutex);
  if (!places_come_from_elsewhere()) {
    if (ledger().made_at.empty()) Diagnostics::instance().complete_with(name_allocations);
    ledger().made_at[address] = cudart::call_stack();
  }
  if (!settings().leak_check) return;
  static const int registered = std::atexit(report_leaks_of_program);
  static_cast<void>(registered);
  ledger().watched.insert(address);
}

}  // namespace warpgrade::emu
