#include "backend/host_finding.h"

namespace warpgrade::emu {
namespace {

bool g_with_places = true;

}  // namespace

void leave_out_host_places() {
  g_with_places = false;
}

cudart::HostPlace host_place(const std::vector<void*>& stack, const std::string& kernel) {
  return g_with_places ? cudart::place_of_call(stack, kernel) : cudart::HostPlace{};
}

void add_host_diagnostic(Diagnostic diagnostic, const std::string& kernel) {
  const cudart::HostPlace place = host_place(cudart::call_stack(), kernel);
  diagnostic.path = place.path;
  diagnostic.line = place.line;
  Diagnostics::instance().add(std::move(diagnostic));
}

}  // namespace warpgrade::emu
