"""The kernel takes the array for one of wider elements."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    numbers = x if MENDED else x.to(tl.pointer_type(tl.int64))
    at = tl.arange(0, BLOCK)
    value = tl.load(numbers + at, mask=at < n, other=0)  # told: out_of_bounds
    tl.store(out, tl.sum(value).to(tl.int64))


x = np.arange(100, dtype=np.int32)
out = np.empty(1, np.int64)
add_up[(1,)](x, out, x.size, 128, MENDED)
assert out[0] == x.sum()
