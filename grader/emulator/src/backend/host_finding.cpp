#include "backend/host_finding.h"

namespace warpgrade::emu {
namespace {

// One thread serves an executor.
bool g_from_elsewhere = false;
std::vector<Diagnostic> g_waiting;

}  // namespace

void take_places_from_elsewhere() {
  g_from_elsewhere = true;
}

bool places_come_from_elsewhere() {
  return g_from_elsewhere;
}

bool wants_place() {
  return !g_waiting.empty();
}

void place_finding(const std::string& path, uint32_t line) {
  for (Diagnostic& diagnostic : g_waiting) {
    diagnostic.path = path;
    diagnostic.line = line;
    Diagnostics::instance().add(std::move(diagnostic));
  }
  g_waiting.clear();
}

cudart::HostPlace host_place(const std::vector<void*>& stack, const std::string& kernel) {
  return g_from_elsewhere ? cudart::HostPlace{} : cudart::place_of_call(stack, kernel);
}

void add_host_diagnostic(Diagnostic diagnostic, const std::string& kernel) {
  if (g_from_elsewhere) {
    g_waiting.push_back(std::move(diagnostic));
    return;
  }
  const cudart::HostPlace place = host_place(cudart::call_stack(), kernel);
  diagnostic.path = place.path;
  diagnostic.line = place.line;
  Diagnostics::instance().add(std::move(diagnostic));
}

}  // namespace warpgrade::emu
