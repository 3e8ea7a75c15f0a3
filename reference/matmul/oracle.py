"""The trusted product, in fp64."""

import numpy as np


def matmul(a, b):
    """C = A * B, and the sums of |a||b| that its rounding errors grow with."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return wide_a @ wide_b, np.abs(wide_a) @ np.abs(wide_b)
