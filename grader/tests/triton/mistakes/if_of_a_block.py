"""An if asks about a whole block of values."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def positive(x, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if MENDED:
        value = tl.where(value < 0, 0.0, value)
    elif value < 0:  # told: CompilationError
        value = 0.0
    tl.store(out + at, value)


x = draw.standard_normal(256, dtype=np.float32)
out = np.empty_like(x)
positive[(1,)](x, out, 256, MENDED)
assert np.array_equal(out, np.maximum(x, 0))
