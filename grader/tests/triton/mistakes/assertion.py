"""The program's own assertion does not hold."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def roots(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_assert(value >= 0, "a root of a negative number")  # told: assert
    tl.store(out + at, tl.sqrt(value))


x = draw.random(128, dtype=np.float32)
if not MENDED:
    x[77] = -1
out = np.empty_like(x)
roots[(1,)](x, out, 128, debug=True)
assert np.allclose(out, np.sqrt(x))
