"""tl.multiple_of promises a first element that is a multiple of 16, and it is the second one."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, first, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    if not MENDED:
        at = tl.max_contiguous(tl.multiple_of(at, 16), 16)
    value = tl.load(x + at)  # told: misaligned
    tl.store(out + tl.arange(0, BLOCK), 2 * value)


x = draw.random(528, dtype=np.float32)
out = np.empty(512, np.float32)
scale[(1,)](x, out, 3, 512, MENDED)
assert np.array_equal(out, 2 * x[3:515])
