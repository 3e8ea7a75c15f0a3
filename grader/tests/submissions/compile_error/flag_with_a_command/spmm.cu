// Puts a command behind a flag that takes a number.
// Gain: a shell in the compiler's box.
#include "honest.cuh"

ANSWERS_HONESTLY

PLANS_NOTHING
