"""Pi by drawn points, a reduction and a vectorized function, which Numba writes kernels for; a sum within a warp.

https://numba.readthedocs.io/en/stable/cuda/random.html, reduction.html, ufunc.html, written anew.
"""

import numpy as np
from numba import cuda, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@cuda.jit
def draw(states, points, inside):
    place = cuda.grid(1)
    found = 0
    for _ in range(points):
        x = xoroshiro128p_uniform_float32(states, place)
        y = xoroshiro128p_uniform_float32(states, place)
        if x * x + y * y <= 1:
            found += 1
    step = 16
    while step > 0:
        found += cuda.shfl_down_sync(0xFFFFFFFF, found, step)
        step //= 2
    if cuda.laneid == 0:
        inside[place // 32] = found


@cuda.reduce
def total(a, b):
    return a + b


@vectorize(["float64(float64, float64)"], target="cuda")
def share(a, b):
    return 4.0 * a / b


def main() -> None:
    states = create_xoroshiro128p_states(256, seed=1)
    inside = cuda.device_array(8, np.int64)
    draw[2, 128](states, 200, inside)
    found = total(inside)
    assert found == inside.copy_to_host().sum()
    pi = share(np.array([found], np.float64), np.array([256.0 * 200]))[0]
    assert abs(pi - np.pi) < 0.05
    print("the numbers agree")


main()
