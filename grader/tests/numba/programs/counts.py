"""A histogram, a maximum and the first finder of a value, by atomic functions.

https://numba.readthedocs.io/en/stable/cuda/intrinsics.html, "Supported atomic operations".
"""

import numpy as np
from numba import cuda


@cuda.jit
def look(numbers, bins, most, finder):
    place = cuda.grid(1)
    if place >= numbers.size:
        return
    number = numbers[place]
    cuda.atomic.add(bins, number % bins.size, 1)
    cuda.atomic.max(most, 0, number)
    if number == 7:
        cuda.atomic.cas(finder, 0, -1, place)


def main() -> None:
    numbers = np.random.default_rng(2).integers(0, 100, 1000).astype(np.int32)
    bins, most, finder = np.zeros(10, np.int32), np.zeros(1, np.int32), np.full(1, -1, np.int32)
    look[8, 128](numbers, bins, most, finder)
    assert np.array_equal(bins, np.bincount(numbers % 10, minlength=10))
    assert most[0] == numbers.max()
    assert numbers[finder[0]] == 7
    print("the counts agree")


main()
