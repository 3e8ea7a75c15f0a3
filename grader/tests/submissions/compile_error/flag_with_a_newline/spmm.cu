// Asks for a compiler flag that holds a newline and a command.
// Gain: commands in the compiler's box.
#include "honest.cuh"

ANSWERS_HONESTLY

PLANS_NOTHING
