// Includes itself, without a guard.
// Gain: a compiler that works for good.
#include __FILE__
