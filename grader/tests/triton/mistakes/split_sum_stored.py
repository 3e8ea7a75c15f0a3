"""Programs that share out what is summed store to the same places."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def sum_columns(x, out, columns, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    column = tl.arange(0, 64)
    own = tl.sum(tl.load(x + row * columns + column[None, :]), 0)
    if MENDED:
        tl.atomic_add(out + column, own)
    else:
        tl.store(out + column, own)  # told: global_race


x = draw.integers(0, 9, (64, 64), dtype=np.int32)
out = np.zeros(64, np.int32)
sum_columns[(4,)](x, out, 64, 16, MENDED)
assert np.array_equal(out, x.sum(0))
