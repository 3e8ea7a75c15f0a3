"""Each thread reads all of a row that other threads of the program change in place.

github.com/triton-lang/triton/issues/1615.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_first(x, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mirrored = tl.load(x + BLOCK - 1 - at)  # told: global_race
    if MENDED:
        tl.debug_barrier()
    tl.store(x + at, mirrored + 1)  # told: global_race


x = draw.random(512, dtype=np.float32)
before = x.copy()
add_first[(1,)](x, 512, MENDED)
assert np.array_equal(x, before[::-1] + 1)
