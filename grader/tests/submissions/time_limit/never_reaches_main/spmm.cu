// Waits in a static constructor for good.
// Gain: a judge that waits for a runner to come up.
#include <unistd.h>

#include "honest.cuh"

static const int kNothing = pause();

ANSWERS_HONESTLY

PLANS_NOTHING
