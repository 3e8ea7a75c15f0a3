// The system calls that a box refuses (seccomp). Everything is allowed but a list: the CUDA driver, the
// emulator and the C++ library need many calls, and each that is left out here is refused for a reason
// given in syscall_filter.cpp.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"

namespace warpgrade {

// The compiler's box may do a little more than a submission's. NVIDIA's profiler talks to the program that it
// has started through the box's own loopback, and looks into it.
enum class BoxKind { kRunner, kCompiler, kProfiler };

// Whether a filter can be had: built with libseccomp, and the kernel takes filters.
struct FilterProbe {
  bool works = false;
  std::string reason;  // why not, and what to do
};
const FilterProbe& probe_syscall_filter();

// The filter as a fresh file in memory, read from its start by `bwrap --seccomp`; nothing where
// probe_syscall_filter() says so.
std::optional<FileDescriptor> syscall_filter(BoxKind kind);

}  // namespace warpgrade
