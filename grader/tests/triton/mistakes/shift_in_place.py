"""Each element takes its right neighbour's value, in the array that others read."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def shift(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at + 1, mask=at + 1 < n)  # told: global_race
    tl.store(out + at, value, mask=at + 1 < n)  # told: global_race


x = draw.random(1000, dtype=np.float32)
before, out = x.copy(), x.copy() if MENDED else x
shift[(4,)](x, out, x.size, 256)
assert np.array_equal(out[:-1], before[1:])
