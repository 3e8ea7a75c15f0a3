// What a night ends with: not the grades alone, but what students, courseware and staff are given of them.
#pragma once

#include <string>

#include "course/record/events.h"
#include "course/record/run_folder.h"

namespace warpgrade {

enum class Published {
  kEverything,
  kPages,  // students' feedback and the leaderboard, which change while hand-ins arrive
};

// `warpgrade export` of a scored run, unless it was made of these very scores before. Where it fails the
// grades stand, and an event says why. Returns what to tell.
std::string publish(const RunFolder& folder, EventLog& events, Published what = Published::kEverything);

// Whether what the last publish() wrote is of the scores that stand now.
bool is_published(const RunFolder& folder, Published what);

}  // namespace warpgrade
