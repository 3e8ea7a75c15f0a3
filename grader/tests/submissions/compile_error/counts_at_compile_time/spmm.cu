// Lets the compiler evaluate a loop without an end.
// Gain: a compiler that works for good.
#include "honest.cuh"

constexpr unsigned long long forever() {
  unsigned long long n = 1;
  while (n != 0) n += 2;
  return n;
}
static_assert(forever() == 0);

ANSWERS_HONESTLY

PLANS_NOTHING
