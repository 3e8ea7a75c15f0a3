"""A program's block begins before the end of the one before it."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def mark(out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    first = tl.program_id(0) * (BLOCK if MENDED else BLOCK - 16)
    tl.store(out + first + tl.arange(0, BLOCK), tl.program_id(0))  # told: global_race


out = np.full(512, -1, np.int32)
mark[(4,)](out, 128, MENDED)
assert np.array_equal(out, np.arange(512) // 128)
