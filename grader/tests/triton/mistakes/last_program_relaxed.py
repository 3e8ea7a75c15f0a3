"""The last program adds up what the others stored, after a counter that orders nothing."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, parts, counter, total, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    own, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(parts + own, tl.sum(tl.load(x + own * BLOCK + at)))  # told: global_race
    if MENDED:
        done = tl.atomic_add(counter, 1)
    else:
        done = tl.atomic_add(counter, 1, sem="relaxed")
    if done == tl.num_programs(0) - 1:
        tl.store(total, tl.sum(tl.load(parts + at, mask=at < tl.num_programs(0), other=0)))  # told: global_race


x = draw.integers(0, 9, 1024, dtype=np.int32)
parts, counter, total = np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
add_up[(4,)](x, parts, counter, total, 256, MENDED)
assert total[0] == x.sum()
