"""Means of three neighbours are stored where other programs still read."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def smooth(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at > 0) & (at + 1 < n)
    left = tl.load(x + at - 1, mask=inside)  # told: global_race
    here = tl.load(x + at, mask=inside)
    right = tl.load(x + at + 1, mask=inside)  # told: global_race
    tl.store(out + at, (left + here + right) / 3, mask=inside)  # told: global_race


x = draw.random(1000, dtype=np.float32)
before, out = x.copy(), x.copy() if MENDED else x
smooth[(4,)](x, out, x.size, 256)
assert np.allclose(out[1:-1], (before[:-2] + before[1:-1] + before[2:]) / 3)
