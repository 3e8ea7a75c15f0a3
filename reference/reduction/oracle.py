"""The trusted sums: fp64 and 64-bit integers."""

import numpy as np

FACTOR = 8  # lab.yaml's bound
UNIT = 2.0**-24
HEAD = 1024  # cells that tell whether all are whole: a case draws all of them alike


def reduction(x, y):
    """The two sums, and what the error of the first may grow with.

    Each addition errs by about 0.4 UNIT of its partial sum, to either side. Of i terms of both signs the partial sum is
    about their root mean square times sqrt(i), of terms of one sign i times their mean. So one number added after the
    other, the worst order, errs by 0.4 UNIT sqrt(n (sum of squares / 2 + sum^2 / 3)). FACTOR times that without the
    0.4 is twenty times as much; partial sums of blocks err far less.

    Whole numbers are added up exactly as long as no sum reaches 2^24: then an error of half a unit is allowed.
    """
    wide = x.astype(np.float64)
    total, exact = y.sum(dtype=np.int64), wide.sum()
    growth = np.sqrt(len(x) * (np.dot(wide, wide) / 2 + exact**2 / 3))
    if np.array_equal(x[:HEAD], np.rint(x[:HEAD])):
        growth = 0.5 / (FACTOR * UNIT)
    return exact.reshape(1), total.reshape(1), np.full(1, growth)
