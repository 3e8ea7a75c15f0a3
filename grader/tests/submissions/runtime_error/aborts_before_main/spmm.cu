// Aborts in a static constructor, before the runner has said a word.
// Gain: a fault that looks like the judge's.
#include <cstdlib>

#include "honest.cuh"

static const int kNothing = (abort(), 0);

ANSWERS_HONESTLY

PLANS_NOTHING
