// Names of an archive's entries, made printable and safe.
#pragma once

#include <string>

#include "course/ingest/unpack.h"

namespace warpgrade {

// A refusal of one entry: "<entry>: <what>".
Refusal refuse_entry(const char* reason, const std::string& entry, const std::string& what,
                     const char* next_step);

}  // namespace warpgrade
