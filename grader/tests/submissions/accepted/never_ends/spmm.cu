// Waits for good in a destructor, when main has returned.
// Gain: a judge that waits for a process to end.
#include <unistd.h>

#include "honest.cuh"

struct Stays {
  ~Stays() { pause(); }
};
static Stays stays;

ANSWERS_HONESTLY

PLANS_NOTHING
