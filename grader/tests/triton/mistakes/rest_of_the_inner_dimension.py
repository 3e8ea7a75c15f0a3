"""A matrix product has masks for rows and columns and none for what is summed."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def product(a, b, c, m, n, k, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, k, BLOCK):
        across, down = first + tl.arange(0, BLOCK)[None, :], first + tl.arange(0, BLOCK)[:, None]
        in_a, in_b = (row < m) & (across < k), (down < k) & (column < n)
        if not MENDED:
            in_a, in_b = row < m, column < n
        left = tl.load(a + row * k + across, mask=in_a, other=0)  # told: out_of_bounds
        right = tl.load(b + down * n + column, mask=in_b, other=0)  # told: out_of_bounds
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row * n + column, total, mask=(row < m) & (column < n))


a, b = draw.random((33, 45), dtype=np.float32), draw.random((45, 29), dtype=np.float32)
c = np.empty((33, 29), np.float32)
product[(2, 1)](a, b, c, 33, 29, 45, 32, MENDED)
assert np.allclose(c, a @ b, rtol=1e-5)
