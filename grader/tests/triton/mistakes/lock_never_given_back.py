"""A lock is taken and never given back: the second program waits for ever."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, total, lock, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    own = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    while tl.atomic_cas(lock, 0, 1) == 1:  # told: launch_timeout
        pass
    tl.store(total, tl.load(total) + own)
    tl.debug_barrier()
    if MENDED:
        tl.atomic_xchg(lock, 0)


x = draw.integers(0, 9, 1024, dtype=np.int32)
total, lock = np.zeros(1, np.int32), np.zeros(1, np.int32)
add_up[(4,)](x, total, lock, 256, MENDED)
assert total[0] == x.sum()
