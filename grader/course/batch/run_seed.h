// What a run's inputs are drawn from. Nobody but the judge knows it before the run is over.
#pragma once

#include <string>

namespace warpgrade {

// 64 hexadecimal digits of the system's.
std::string hidden_seed();

// The same for a day, for students' own runs on this machine: what an oracle answered in one is right in the
// next (judge/labs/declared/answer_files.h). It lies beside the answers, where no box shows it.
std::string seed_of_the_day();

}  // namespace warpgrade
