#include "backend/host_finding.h"

#include <algorithm>

#include "program/build.h"
#include "support/host_process.h"

namespace warpgrade::emu {
namespace {

// One thread serves an executor.
bool g_from_elsewhere = false;
struct Waiting {
  Diagnostic diagnostic;
  uint64_t earlier = 0;
  Finish finish;
  bool is_one_call = false;  // the earlier call is this one: both are nodes of a graph
};
std::vector<Waiting> g_waiting;
uint64_t g_call = 0;
bool g_keeps_call = false;
cudart::HostPlace g_earlier;

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
  const uint64_t told = earlier_call();
  for (Waiting& waiting : g_waiting) {
    take_place(waiting.diagnostic, path, line);
    const cudart::HostPlace earlier = waiting.is_one_call       ? cudart::HostPlace{path, line}
                                      : waiting.earlier == told ? g_earlier
                                                                : cudart::HostPlace{};
    if (waiting.finish) waiting.finish(waiting.diagnostic, earlier);
    Diagnostics::instance().add(std::move(waiting.diagnostic));
  }
  g_waiting.clear();
  g_earlier = {};
}

void begin_call(uint64_t number) {
  g_call = number;
  g_keeps_call = false;
}
bool keeps_call() {
  return g_keeps_call;
}
uint64_t earlier_call() {
  const auto names_one = std::find_if(g_waiting.begin(), g_waiting.end(),
                                      [](const Waiting& waiting) { return waiting.earlier != 0; });
  return names_one == g_waiting.end() ? 0 : names_one->earlier;
}
void place_earlier(const cudart::HostPlace& place) {
  g_earlier = place;
}

CallPlace this_call(const std::string& kernel) {
  if (!g_from_elsewhere) return {cudart::call_stack(), 0, kernel};
  g_keeps_call = true;
  return {{}, g_call, kernel};
}

CallPlace call_here(const std::string& kernel) {
  if (g_from_elsewhere) return {{}, 0, kernel};
  return {cudart::call_stack(), 0, kernel};
}

cudart::HostPlace host_place(const std::vector<void*>& stack, const std::string& kernel) {
  return g_from_elsewhere ? cudart::HostPlace{} : cudart::place_of_call(stack, kernel);
}

void add_host_diagnostic(Diagnostic diagnostic, const CallPlace& call, const CallPlace& earlier,
                         const Finish& finish) {
  if (g_from_elsewhere) {
    const bool is_one_call = earlier.number == g_call;
    g_waiting.push_back({std::move(diagnostic), is_one_call ? 0 : earlier.number, finish, is_one_call});
    return;
  }
  const cudart::HostPlace place = host_place(call.stack, call.kernel);
  take_place(diagnostic, place.path, place.line);
  if (finish) finish(diagnostic, host_place(earlier.stack, earlier.kernel));
  Diagnostics::instance().add(std::move(diagnostic));
}

void add_finding(const cudart::HostFinding& finding, const std::string& who) {
  using Kind = cudart::HostFinding::Kind;
  const bool unsupported = finding.kind == Kind::unsupported;
  Diagnostic d;
  d.kind = unsupported                          ? Finding::unsupported
           : finding.kind == Kind::invalid_copy ? Finding::invalid_copy
           : finding.kind == Kind::invalid_free ? Finding::invalid_free
                                                : Finding::invalid_launch;
  d.bytes = static_cast<uint32_t>(std::min<uint64_t>(finding.bytes, ~0u));
  if (!unsupported && !finding.kernel.empty()) d.kernel = kernel_title(finding.kernel);
  d.message = (unsupported ? who + ": " : "") + finding.message;
  d.advice = finding.advice;
  if (!g_from_elsewhere || finding.path.empty())
    return add_host_diagnostic(std::move(d), call_here(finding.kernel));
  d.path = finding.path;
  d.line = finding.line;
  Diagnostics::instance().add(std::move(d));
}

}  // namespace warpgrade::emu
