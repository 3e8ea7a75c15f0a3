"""The mask has the length of one array, and the view of another is shorter.

github.com/triton-lang/triton/issues/10336.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add(values, bins, out, n, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(values + at, mask=at < n, other=0)
    number = tl.load(bins + at * stride, mask=at < n, other=0)  # told: out_of_bounds
    tl.store(out + at, value + number, mask=at < n)


values = np.array([1, 2, 3, 4], np.int32)
bins = np.array([10, 99, 11, 99, 12], np.int32)[::2]
out = np.empty(4, np.int32)
add[(1,)](values, bins, out, len(bins) if MENDED else len(values), 2, 8)
assert np.array_equal(out[:3], values[:3] + bins)
