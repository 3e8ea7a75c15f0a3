"""tl.arange is given a number that the kernel only gets when it runs.

github.com/triton-lang/triton/issues/2735.
"""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    at = tl.arange(0, BLOCK if MENDED else n)  # told: CompilationError
    tl.store(out + at, 2 * tl.load(x + at))


x = draw.random(256, dtype=np.float32)
out = np.empty_like(x)
scale[(1,)](x, out, x.size, 256, MENDED)
assert np.array_equal(out, 2 * x)
