"""The kernel that the attacks in Python compute with: a program for each row and 32 columns of C."""

import triton
import triton.language as tl

WIDTH = 32


@triton.jit
def multiply(row_offsets, columns, values, b, k, c, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for entry in range(tl.load(row_offsets + row), tl.load(row_offsets + row + 1)):
        column = tl.load(columns + entry).to(tl.int64)
        total += tl.load(values + entry) * tl.load(b + column * k + col)
    tl.store(c + row.to(tl.int64) * k + col, total)


def honest_run(a, k, b, c):
    multiply[(a.rows, k // WIDTH)](a.row_offsets, a.columns, a.values, b, k, c, WIDTH=WIDTH)
