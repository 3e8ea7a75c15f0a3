// In the folder of a run that was a student's practice on a desk: it is never collected into grades.
#pragma once

namespace warpgrade {

inline constexpr const char* kPracticeFile = "practice.json";

}  // namespace warpgrade
