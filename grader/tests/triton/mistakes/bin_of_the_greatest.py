"""A value of 1 has the number of bins as its bin."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def histogram(x, counts, n, bins, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bin_of = (tl.load(x + at, mask=at < n) * bins).to(tl.int32)
    if MENDED:
        bin_of = tl.minimum(bin_of, bins - 1)
    tl.atomic_add(counts + bin_of, 1, mask=at < n)  # told: out_of_bounds


x = np.linspace(0, 1, 1000, dtype=np.float32)
counts = np.zeros(16, np.int32)
histogram[(4,)](x, counts, x.size, 16, 256, MENDED)
assert counts.sum() == 1000
