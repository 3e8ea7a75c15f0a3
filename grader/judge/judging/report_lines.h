// What the emulator's runtime reports, read as what it is: text from the untrusted side. The submission's
// process may write any bytes into the report, so each line is read within limits, and only fields of the
// types that the emulator gives them are taken over. All later code (sums, performance problems, pages) then
// works on numbers that are finite and text that is valid UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace warpgrade {

enum class Report { kDiagnostics = 0, kCounters = 1 };

// The report's objects, a line each, as warpemu/warpemu.h describes them. A line that is no JSON object, is
// nested deeper or holds more values than the emulator ever writes is left out; so is a field of another type
// or a number out of range (counters are never negative). At most 2000 objects.
nlohmann::json read_report(std::string_view text, Report report);

}  // namespace warpgrade
