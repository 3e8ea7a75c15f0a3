"""The tall dimension is the grid's second, whose limit is 65535 (CUDA's programming guide, compute capabilities)."""

import sys

import numpy as np
import triton
import triton.language as tl


@triton.jit
def fill(out, n, B: tl.constexpr):
    index = (tl.program_id(0) + tl.program_id(1)) * B + tl.arange(0, B)
    tl.store(out + index, 1.0, mask=index < n)


out = np.zeros(70000, np.float32)
if len(sys.argv) > 1:
    fill[(70000, 1)](out, out.size, B=1)
else:
    fill[(1, 70000)](out, out.size, B=1)  # told: invalid_launch
assert (out == 1).all()
