"""Both masks of a matrix that is wider than high ask for the number of columns."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, rows, columns, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (row < (rows if MENDED else columns)) & (column < columns)
    at = row * columns + column
    value = tl.load(x + at, mask=inside)  # told: out_of_bounds
    tl.store(out + at, 2 * value, mask=inside)


x = draw.random((40, 70), dtype=np.float32)
out = np.empty_like(x)
scale[(2, 3)](x, out, *x.shape, 32, MENDED)
assert np.array_equal(out, 2 * x)
