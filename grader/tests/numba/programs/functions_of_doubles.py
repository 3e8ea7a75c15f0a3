"""Functions of libdevice in double, through a device function, a constant array and one of each thread's own.

https://numba.readthedocs.io/en/stable/cuda/cudapysupported.html, "math", and memory.html, "Local memory".
"""

import math

import numpy as np
from numba import cuda, float64

WEIGHTS = np.array([0.5, 0.25, 0.125, 0.0625])


@cuda.jit(device=True)
def mixed(x):
    return math.sin(x) * math.exp(-x) + math.log(x) + math.pow(x, 1.5) + math.erf(x) + math.atan2(x, 2.0)


@cuda.jit
def weigh(x, out):
    place = cuda.grid(1)
    if place >= x.size:
        return
    weights = cuda.const.array_like(WEIGHTS)
    terms = cuda.local.array(4, float64)
    for k in range(4):
        terms[k] = mixed(x[place] + k) * weights[k]
    total = 0.0
    for k in range(4):
        total += terms[k]
    out[place] = total


def main() -> None:
    x = np.linspace(0.1, 5.0, 300)
    out = np.zeros_like(x)
    weigh[3, 128](x, out)
    expected = np.zeros_like(x)
    for k, weight in enumerate(WEIGHTS):
        v = x + k
        erf = np.array([math.erf(each) for each in v])
        expected += weight * (np.sin(v) * np.exp(-v) + np.log(v) + v**1.5 + erf + np.arctan2(v, 2.0))
    assert np.allclose(out, expected, rtol=1e-14, atol=0)
    print("the functions agree")


main()
