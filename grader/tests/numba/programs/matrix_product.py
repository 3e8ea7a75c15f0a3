"""A product of matrices, tile by tile in shared memory, of sizes that tiles do not divide.

https://numba.readthedocs.io/en/stable/cuda/examples.html, "Matrix multiplication", written anew.
"""

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def multiply(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        left[y, x] = a[row, first + x] if row < a.shape[0] and first + x < a.shape[1] else 0
        right[y, x] = b[first + y, column] if first + y < b.shape[0] and column < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main() -> None:
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (50, 37)).astype(np.float32)
    b = random.integers(-4, 5, (37, 23)).astype(np.float32)
    c = cuda.device_array((50, 23), np.float32)
    multiply[(4, 2), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    assert np.array_equal(c.copy_to_host(), a @ b)
    print("the products agree")


main()
