"""A sum begins as a whole number and becomes a block of fp32 in the loop."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def add_up(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32) if MENDED else 0
    for first in range(0, n, BLOCK):  # told: CompilationError
        total += tl.load(x + first + tl.arange(0, BLOCK))
    tl.store(out, tl.sum(total))


x = draw.random(1024, dtype=np.float32)
out = np.empty(1, np.float32)
add_up[(1,)](x, out, x.size, 256, MENDED)
assert np.allclose(out, x.sum())
