"""The kernel reads a global variable that is no tl.constexpr."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)

FACTOR = tl.constexpr(2) if MENDED else 2


@triton.jit
def scale(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, FACTOR * tl.load(x + at))  # told: CompilationError


x = draw.random(256, dtype=np.float32)
out = np.empty_like(x)
scale[(1,)](x, out, 256)
assert np.array_equal(out, 2 * x)
