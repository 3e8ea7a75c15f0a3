"""What a program stores it reads in another order: other threads of it hold the elements.

github.com/triton-lang/triton/issues/10924, github.com/triton-lang/triton/issues/1097.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def turn(x, work, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    value = tl.load(x + row * BLOCK + column)
    tl.store(work + row * BLOCK + column, value)  # told: global_race
    if MENDED:
        tl.debug_barrier()
    mirrored = tl.load(work + (BLOCK - 1 - row) * BLOCK + column)  # told: global_race
    tl.store(out + row * BLOCK + column, mirrored)


x = draw.random((32, 32), dtype=np.float32)
work, out = np.empty_like(x), np.empty_like(x)
turn[(1,)](x, work, out, 32, MENDED)
assert np.array_equal(out, x[::-1])
