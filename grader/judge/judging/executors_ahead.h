// When the executors of the submission that comes next are sent for.
#pragma once

namespace warpgrade {

// How many of `count` executors of the next submission should be on their way at a case's start, or behind its
// runs (`behind_runs`). They come up one after another beside all cases of the submission at hand: five sent
// for at once take most of a second, and a timed phase waits until the GPU is quiet.
constexpr int executors_of_next(int count, int cases_before, int cases_after, bool behind_runs) {
  const int gaps = 2 * (cases_before + 1 + cases_after), gap = 2 * cases_before + (behind_runs ? 2 : 1);
  return (count * gap + gaps - 1) / gaps;
}

}  // namespace warpgrade
