"""A sum: each block adds up its part in shared memory, and one thread of it adds that to the whole.

https://numba.readthedocs.io/en/stable/cuda/examples.html, "Shared memory reduction", written anew.
"""

import numpy as np
from numba import cuda, float32

THREADS = 128


@cuda.jit
def add_up(numbers, total):
    part = cuda.shared.array(THREADS, float32)
    own = cuda.threadIdx.x
    place = cuda.grid(1)
    part[own] = numbers[place] if place < numbers.size else 0.0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            part[own] += part[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        cuda.atomic.add(total, 0, part[0])


def main() -> None:
    numbers = np.arange(1000, dtype=np.float32)
    total = np.zeros(1, np.float32)
    add_up[(numbers.size + THREADS - 1) // THREADS, THREADS](numbers, total)
    assert total[0] == numbers.sum()
    print("the sums agree")


main()
