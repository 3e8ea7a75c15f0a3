"""A block has 100 elements."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)  # told: CompilationError
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


x = draw.random(100, dtype=np.float32)
out = np.empty_like(x)
scale[(1,)](x, out, 100, triton.next_power_of_2(100) if MENDED else 100)
assert np.array_equal(out, 2 * x)
