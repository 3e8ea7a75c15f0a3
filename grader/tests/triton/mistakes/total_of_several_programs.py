"""A number is loaded and stored by the program that is alone, and then by four."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, total, blocks, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        own = tl.sum(tl.load(x + block * BLOCK + tl.arange(0, BLOCK)))
        before = tl.load(total)  # told: global_race
        tl.store(total, before + own)  # told: global_race


x = draw.integers(0, 9, 1024, dtype=np.int32)
total = np.zeros(1, np.int32)
add_up[(1 if MENDED else 4,)](x, total, 4, 256)
assert total[0] == x.sum()
