"""The trusted sums: fp64 and 64-bit integers."""

import numpy as np


def reduction(x, y):
    """The two sums, and what the rounding errors of the first grow with.

    Each of m additions onto one number errs by up to half a unit of its last place, to either side: together by about
    sqrt(m) of them. At 64 million numbers the error has a standard deviation of 0.44 of the 256 that lab.yaml allows
    where a kernel does one atomic for each block of 256, and of 1.1 where it does one for each warp. So the allowance
    grows with sqrt(n) from a million numbers on, to eight times at 64 million: seven standard deviations of the latter.
    """
    wide = x.astype(np.float64)
    total = y.sum(dtype=np.int64)
    growth = max(1.0, np.sqrt(len(x)) / 1024)
    return wide.sum().reshape(1), total.reshape(1), growth * np.abs(wide).sum().reshape(1)
