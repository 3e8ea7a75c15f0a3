#include "backend/host_finding.h"

#include "cudart/host_place.h"

namespace warpgrade::emu {
namespace {

bool g_with_places = true;

}  // namespace

void leave_out_host_places() {
  g_with_places = false;
}

void add_host_diagnostic(Diagnostic diagnostic, const std::string& kernel) {
  if (g_with_places) {
    const cudart::HostPlace place = cudart::place_of_call(cudart::call_stack(), kernel);
    diagnostic.path = place.path;
    diagnostic.line = place.line;
  }
  Diagnostics::instance().add(std::move(diagnostic));
}

}  // namespace warpgrade::emu
