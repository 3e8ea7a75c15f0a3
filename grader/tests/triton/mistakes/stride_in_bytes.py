"""NumPy's strides are bytes; a pointer of Triton's counts elements."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def sum_rows(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * stride + tl.arange(0, BLOCK))  # told: out_of_bounds
    tl.store(out + row, tl.sum(value))


x = draw.random((64, 64), dtype=np.float32)
out = np.empty(64, np.float32)
sum_rows[(64,)](x, out, x.strides[0] // x.itemsize if MENDED else x.strides[0], 64)
assert np.allclose(out, x.sum(1))
