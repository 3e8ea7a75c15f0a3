"""The trusted sums: fp64 and 64-bit integers."""

import numpy as np


def reduction(x, y):
    """The two sums, and what the rounding errors of the first grow with.

    Each of m additions onto one number errs by up to half a unit of its last place, to either side: together by about
    sqrt(m) of them. From 262,144 numbers on this can exceed the 256 that lab.yaml allows: of 64 million, a kernel with
    one atomic for each block of 256 was found 300 away. From there on the allowance grows with sqrt(n), which leaves a
    kernel with one atomic for each warp at five times its usual error.
    """
    wide = x.astype(np.float64)
    total = y.sum(dtype=np.int64)
    growth = max(1.0, np.sqrt(len(x)) / 512)
    return wide.sum().reshape(1), total.reshape(1), growth * np.abs(wide).sum().reshape(1)
