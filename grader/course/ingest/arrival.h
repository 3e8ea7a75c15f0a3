// Hand-ins that arrive while a class is watched: when one of them was last touched, and whether it is another
// one than before.
#pragma once

#include <cstdint>
#include <string>

#include "course/ingest/layout.h"

namespace warpgrade {

struct Arrival {
  std::string stamp;    // of names, sizes and times; another one: something was written
  std::int64_t at = 0;  // seconds since 1970: when the last of it was written, by the kernel's clock
};

// Of the attempt's files as they lie there, without reading them. The time is that of the last change of any
// file or folder (ctime), which nobody can set to an earlier one.
Arrival arrival_of(const RawAttempt& attempt);

}  // namespace warpgrade
