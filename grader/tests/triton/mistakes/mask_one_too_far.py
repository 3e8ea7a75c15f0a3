"""The mask says at <= n."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n if MENDED else at <= n
    value = tl.load(x + at, mask=inside)  # told: out_of_bounds
    tl.store(out + at, 2 * value, mask=inside)


x = draw.random(1000, dtype=np.float32)
out = np.empty_like(x)
scale[(4,)](x, out, x.size, 256, MENDED)
assert np.array_equal(out, 2 * x)
