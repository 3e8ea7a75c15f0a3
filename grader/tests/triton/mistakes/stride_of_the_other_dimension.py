"""Rows of a matrix that is higher than wide are its height apart."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def sum_rows(x, out, rows, columns, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    at = row * (columns if MENDED else rows) + column
    value = tl.load(x + at, mask=column < columns, other=0)  # told: out_of_bounds
    tl.store(out + row, tl.sum(value))


x = draw.random((70, 40), dtype=np.float32)
out = np.empty(70, np.float32)
sum_rows[(70,)](x, out, *x.shape, 64, MENDED)
assert np.allclose(out, x.sum(1))
