"""An index times a row's length is more than 2^31 and comes out negative.

github.com/triton-lang/triton/issues/832, github.com/databricks/megablocks/pull/185.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def first_of_rows(x, rows, out, columns, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    number = tl.arange(0, BLOCK)
    row = tl.load(rows + number)
    at = (row.to(tl.int64) if MENDED else row) * columns
    value = tl.load(x + at)  # told: out_of_bounds
    tl.store(out + number, value)


x = np.zeros((2**15 + 16, 2**16), np.int8)  # of which no more than what is touched takes memory
rows = np.arange(2**15 - 16, 2**15 + 16, dtype=np.int32)
x[rows, 0] = np.arange(32)
out = np.empty(32, np.int8)
first_of_rows[(1,)](x, rows, out, x.shape[1], 32, MENDED)
assert np.array_equal(out, np.arange(32))
