#include "backend/host_finding.h"

#include <algorithm>

#include "program/build.h"
#include "support/host_process.h"

namespace warpgrade::emu {
namespace {

// One thread serves an executor.
bool g_from_elsewhere = false;
std::vector<Diagnostic> g_waiting;

// A finding may have a place in device code already, which stands where the call's is not known.
void take_place(Diagnostic& diagnostic, const std::string& path, uint32_t line) {
  if (line == 0 && diagnostic.line != 0) return;
  diagnostic.path = path;
  diagnostic.line = line;
}

}  // namespace

void take_places_from_elsewhere() {
  g_from_elsewhere = g_host_is_elsewhere = true;
}

bool places_come_from_elsewhere() {
  return g_from_elsewhere;
}

bool wants_place() {
  return !g_waiting.empty();
}

void place_finding(const std::string& path, uint32_t line) {
  for (Diagnostic& diagnostic : g_waiting) {
    take_place(diagnostic, path, line);
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
  take_place(diagnostic, place.path, place.line);
  Diagnostics::instance().add(std::move(diagnostic));
}

void add_finding(const cudart::HostFinding& finding, const std::string& who) {
  using Kind = cudart::HostFinding::Kind;
  const bool unsupported = finding.kind == Kind::unsupported;
  Diagnostic d;
  d.kind = unsupported                          ? Finding::unsupported
           : finding.kind == Kind::invalid_copy ? Finding::invalid_copy
                                                : Finding::invalid_launch;
  d.bytes = static_cast<uint32_t>(std::min<uint64_t>(finding.bytes, ~0u));
  if (!unsupported && !finding.kernel.empty()) d.kernel = kernel_title(finding.kernel);
  d.message = (unsupported ? who + ": " : "") + finding.message;
  d.advice = finding.advice;
  if (!g_from_elsewhere || finding.path.empty()) return add_host_diagnostic(std::move(d), finding.kernel);
  d.path = finding.path;
  d.line = finding.line;
  Diagnostics::instance().add(std::move(d));
}

}  // namespace warpgrade::emu
