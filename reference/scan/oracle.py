"""The trusted running sums."""

import numpy as np


def scan(in_, n):
    """out[i] = in[0] + ... + in[i], in integers that cannot overflow."""
    return np.cumsum(in_, dtype=np.int64)
