"""A loop is left by break."""

import sys

import numpy as np
import triton
import triton.language as tl

MENDED = "mended" in sys.argv
draw = np.random.default_rng(1)


@triton.jit
def find(x, out, n, MENDED: tl.constexpr):
    place = n
    if MENDED:
        for number in range(n):
            place = tl.where((tl.load(x + number) > 0.5) & (place == n), number, place)
    else:
        for number in range(n):
            if tl.load(x + number) > 0.5:
                place = number
                break  # told: CompilationError
    tl.store(out, place)


x = np.array([0, 0.1, 0.7, 0.2, 0.9], np.float32)
out = np.empty(1, np.int32)
find[(1,)](x, out, x.size, MENDED)
assert out[0] == 2
