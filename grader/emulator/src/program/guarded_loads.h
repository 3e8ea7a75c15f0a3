// Loads whose value only some lanes use, for checks between threads.
//
// Triton's numbers are the program's: `tl.store(p, tl.load(p) + 1)` is loaded by every thread and stored by the
// first. The others' values go nowhere, and whether they were read before or after the store is no matter.
#pragma once
#include "program/linear.h"

namespace warpgrade::emu {

// Gives a load of one number for the whole block the guard of the stores and atomics that its value ends in: the
// one predicate that all of them have, where it says which thread stores and nothing else. A copy of what makes
// the predicate is put first. The storing thread loads from the same place, so that no access is left
// unchecked.
void guard_loads_as_their_stores(LinearFunction& function);

}  // namespace warpgrade::emu
