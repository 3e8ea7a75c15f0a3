// Loads A into the shared memory of all multiprocessors in every run.
// Gain: none. It is the twin that keeps_a_in_shared_memory is compared with.
#include "honest.cuh"
#include "kept_a.cuh"

COMPUTES_WITH_PARTS_OF_A(false)
