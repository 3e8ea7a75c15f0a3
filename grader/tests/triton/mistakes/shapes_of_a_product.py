"""The inner dimensions of tl.dot's operands differ."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def product(a, b, c, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    across = tl.arange(0, 64)[None, :]
    down = tl.arange(0, 64 if MENDED else 32)[:, None]
    left, right = tl.load(a + row * 64 + across), tl.load(b + down * BLOCK + column)
    total = tl.dot(left, right, input_precision="ieee")  # told: CompilationError
    tl.store(c + row * BLOCK + column, total)


a, b = draw.random((32, 64), dtype=np.float32), draw.random((64, 32), dtype=np.float32)
c = np.empty((32, 32), np.float32)
product[(1,)](a, b, c, 32, MENDED)
assert np.allclose(c, a @ b, rtol=1e-5)
