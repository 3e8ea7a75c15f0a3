// Asks the compiler to link a vendor's library and to run a program of the hand-in's as its assembler.
// Gain: somebody else's kernels; a program outside of the run's box.
#include "honest.cuh"

ANSWERS_HONESTLY

PLANS_NOTHING
