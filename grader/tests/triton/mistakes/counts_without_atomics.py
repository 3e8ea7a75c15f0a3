"""Counts are loaded, increased and stored by all programs."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def histogram(x, counts, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    place = counts + tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    if MENDED:
        tl.atomic_add(place, 1)
    else:
        before = tl.load(place)  # told: global_race
        tl.store(place, before + 1)  # told: global_race


x = draw.integers(0, 16, 1024, dtype=np.int32)
counts = np.zeros(16, np.int32)
histogram[(4,)](x, counts, 256, MENDED)
assert np.array_equal(counts, np.bincount(x))
