"""A row of a table is looked up by a number that may be as large as the table is long."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def look_up(table, tokens, out, rows, columns, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    token, column = tl.load(tokens + tl.program_id(0)), tl.arange(0, BLOCK)
    inside = (column < columns) & (token < rows) if MENDED else column < columns
    value = tl.load(table + token * columns + column, mask=inside, other=0)  # told: out_of_bounds
    tl.store(out + tl.program_id(0) * columns + column, value, mask=column < columns)


table = draw.random((50, 24), dtype=np.float32)
tokens = np.array([3, 49, 50, 0], np.int32)
out = np.empty((4, 24), np.float32)
look_up[(4,)](table, tokens, out, *table.shape, 32, MENDED)
assert np.array_equal(out[:2], table[[3, 49]])
