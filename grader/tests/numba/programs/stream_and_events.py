"""Copies of pinned memory and a kernel in a stream between two events; then a copy from array to array.

https://numba.readthedocs.io/en/stable/cuda/memory.html and examples.html.
"""

import numpy as np
from numba import cuda


@cuda.jit
def increase(numbers):
    x, y = cuda.grid(2)
    if x < numbers.shape[0] and y < numbers.shape[1]:
        numbers[x, y] += 1


def main() -> None:
    stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
    numbers = cuda.pinned_array((37, 21), np.float32)
    numbers[:] = np.arange(37 * 21).reshape(37, 21)
    expected = numbers + 1
    begin.record(stream)
    there = cuda.to_device(numbers, stream=stream)
    increase[(3, 2), (16, 16), stream](there)
    there.copy_to_host(numbers, stream=stream)
    end.record(stream)
    end.synchronize()
    assert np.array_equal(numbers, expected)
    assert begin.elapsed_time(end) >= 0
    other = cuda.device_array_like(there)
    other.copy_to_device(there)
    assert np.array_equal(other.copy_to_host(), expected)
    print("the copies agree")


main()
