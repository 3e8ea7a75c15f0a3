"""The kernel calls a function that is not Triton's."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


def twice(value):
    return 2 * value


if MENDED:
    twice = triton.jit(twice)


@triton.jit
def scale(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, twice(tl.load(x + at)))


x = draw.random(256, dtype=np.float32)
out = np.empty_like(x)
scale[(1,)](x, out, 256)  # told: RuntimeError
assert np.array_equal(out, 2 * x)
