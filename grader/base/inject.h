// Faults on purpose, for tests: a named point of the trusted programs throws, dies or waits where the
// environment says so. Submissions never see the variable, and no decision depends on it.
//
//   WARPGRADE_INJECT="stage:check,submission:bo,kind:exception"
//
// stage       stage, compile, inspect, start, plan, run, check, record, view, report, page, export, counted_gpu
// submission  the id whose turn it is; without it everybody's
// kind        exception (std::runtime_error), other (an int is thrown), signal (SIGSEGV) or wait
// while       a file: `wait` lasts as long as it is there
#pragma once

#include <string_view>

namespace warpgrade {

// Does what the environment asks for at this point. Unset, it costs one look at a flag.
void inject(const char* stage, std::string_view submission);

}  // namespace warpgrade
