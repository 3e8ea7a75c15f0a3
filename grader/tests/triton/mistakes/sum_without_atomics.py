"""Each program adds its sum to the same number by a load and a store."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, total, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    own = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    if MENDED:
        tl.atomic_add(total, own)
    else:
        tl.store(total, tl.load(total) + own)  # told: global_race


x = draw.integers(0, 9, 1024, dtype=np.int32)
total = np.zeros(1, np.int32)
add_up[(4,)](x, total, 256, MENDED)
assert total[0] == x.sum()
