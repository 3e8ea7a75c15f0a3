"""A program reads what another one stored, and nothing says that it has been stored."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def own_sums(x, sums, BLOCK: tl.constexpr):
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))))


@triton.jit
def running(x, sums, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    own, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + own * BLOCK + at)
    if not MENDED:
        tl.store(sums + own, tl.sum(values))  # told: global_race
    before = tl.sum(tl.load(sums + at, mask=at < own, other=0))  # told: global_race
    tl.store(out + own * BLOCK + at, before + tl.cumsum(values))


x = draw.integers(0, 9, 512, dtype=np.int32)
sums, out = np.zeros(4, np.int32), np.empty_like(x)
if MENDED:
    own_sums[(4,)](x, sums, 128)
running[(4,)](x, sums, out, 128, MENDED)
assert np.array_equal(out, np.cumsum(x))
