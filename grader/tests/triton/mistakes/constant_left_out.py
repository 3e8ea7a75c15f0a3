"""The launch leaves out BLOCK."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


x = draw.random(256, dtype=np.float32)
out = np.empty_like(x)
constants = {"BLOCK": 256} if MENDED else {}
scale[(1,)](x, out, **constants)  # told: TypeError
assert np.array_equal(out, 2 * x)
