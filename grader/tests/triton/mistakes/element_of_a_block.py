"""One element of a block is set by its index."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def set_first(x, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if MENDED:
        value = tl.where(at == 0, 7.0, value)
    else:
        value[0] = 7.0  # told: CompilationError
    tl.store(out + at, value)


x = draw.random(256, dtype=np.float32)
out = np.empty_like(x)
set_first[(1,)](x, out, 256, MENDED)
assert out[0] == 7 and np.array_equal(out[1:], x[1:])
