"""A difference of neighbours reads the element before the first one."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def differences(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    has_left = (at > 0) & (at < n) if MENDED else at < n
    left = tl.load(x + at - 1, mask=has_left, other=0)  # told: out_of_bounds
    tl.store(out + at, tl.load(x + at, mask=at < n) - left, mask=at < n)


x = draw.random(1000, dtype=np.float32)
out = np.empty_like(x)
differences[(4,)](x, out, x.size, 256, MENDED)
assert np.array_equal(out, np.diff(x, prepend=np.float32(0)))
