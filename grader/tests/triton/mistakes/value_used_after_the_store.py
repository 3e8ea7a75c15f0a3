"""All threads use a number that one of them changes in the meantime.

github.com/triton-lang/triton/issues/1615.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def take_number(counter, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    number = tl.load(counter)  # told: global_race
    if MENDED:
        tl.debug_barrier()
    tl.store(counter, number + 1)  # told: global_race
    tl.store(out + tl.arange(0, BLOCK), number)


counter, out = np.full(1, 7, np.int32), np.empty(512, np.int32)
take_number[(1,)](counter, out, 512, MENDED)
assert counter[0] == 8 and (out == 7).all()
