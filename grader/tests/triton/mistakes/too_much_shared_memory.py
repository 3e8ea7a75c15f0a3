"""Four stages of tiles of 256 x 64 want more shared memory than a block may have."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def product(a, b, c, k, BLOCK: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, k, 64):
        across, down = first + tl.arange(0, 64)[None, :], first + tl.arange(0, 64)[:, None]
        total = tl.dot(tl.load(a + row * k + across), tl.load(b + down * BLOCK + column), total)
    tl.store(c + row * BLOCK + column, total)


size = 64 if MENDED else 256
a, b = draw.random((size, 256), dtype=np.float32), draw.random((256, size), dtype=np.float32)
c = np.empty((size, size), np.float32)
product[(1,)](a, b, c, 256, size, num_stages=2 if MENDED else 4, num_warps=8)  # told: OutOfResources
assert np.allclose(c, a @ b, rtol=1e-2)
