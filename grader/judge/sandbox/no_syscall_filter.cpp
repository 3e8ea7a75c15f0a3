// Built where libseccomp is absent.
#include "judge/sandbox/syscall_filter.h"

namespace warpgrade {

const FilterProbe& probe_syscall_filter() {
  static const FilterProbe probe{
      false, "warpgrade was built without libseccomp; install libseccomp-dev and build again (make build)"};
  return probe;
}

std::optional<FileDescriptor> syscall_filter(BoxKind) {
  return std::nullopt;
}

}  // namespace warpgrade
