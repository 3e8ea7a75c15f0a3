"""A row of 64 is added to one of 32."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add(x, y, out, MENDED: tl.constexpr):
    at, other = tl.arange(0, 64), tl.arange(0, 64 if MENDED else 32)
    total = tl.load(x + at) + tl.load(y + other)  # told: CompilationError
    tl.store(out + at, total)


x, y = draw.random(64, dtype=np.float32), draw.random(64, dtype=np.float32)
out = np.empty_like(x)
add[(1,)](x, y, out, MENDED)
assert np.array_equal(out, x + y)
