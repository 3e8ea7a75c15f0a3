"""A function of Python's math is called with a number of the kernel.

github.com/ROCm/triton/issues/254.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)

import math

BLOCKS = tl.constexpr(4)


@triton.jit
def add_up(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    turns = tl.cdiv(n, BLOCK) if MENDED else math.ceil(n / BLOCK)  # told: CompilationError
    for turn in range(turns):
        at = turn * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0)
    tl.store(out, tl.sum(total))


x = draw.random(1000, dtype=np.float32)
out = np.empty(1, np.float32)
add_up[(1,)](x, out, x.size, 256, MENDED)
assert np.allclose(out, x.sum())
