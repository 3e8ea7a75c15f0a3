"""Each program moves a tile to where another one reads."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def transpose(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + row * n + column)  # told: global_race
    tl.store(out + column * n + row, tile)  # told: global_race


x = draw.random((64, 64), dtype=np.float32)
before, out = x.copy(), np.empty_like(x) if MENDED else x
transpose[(2, 2)](x, out, 64, 32)
assert np.array_equal(out, before.T)
