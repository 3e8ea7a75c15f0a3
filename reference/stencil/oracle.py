"""The trusted step, in fp64, a plane at a time: a few planes fit the processor's cache, a box does not."""

import numpy as np


def _inside(planes, centre, side):
    """The cells of the middle one of three planes that are at no edge, after one step."""
    here = planes[1]
    cells = planes[0, 1:-1, 1:-1] + planes[2, 1:-1, 1:-1]
    cells += here[2:, 1:-1]
    cells += here[:-2, 1:-1]
    cells += here[1:-1, 2:]
    cells += here[1:-1, :-2]
    cells *= side
    cells += centre * here[1:-1, 1:-1]
    return cells


def stencil(in_, centre, side):
    """The cells after one step, and the sums of magnitudes that rounding errors grow with."""
    out = in_.astype(np.float64)
    magnitude = np.abs(out)
    if min(in_.shape) > 2:
        for z in range(1, in_.shape[0] - 1):
            planes = in_[z - 1 : z + 2].astype(np.float64)
            out[z, 1:-1, 1:-1] = _inside(planes, centre, side)
            magnitude[z, 1:-1, 1:-1] = _inside(np.abs(planes), abs(centre), abs(side))
    return out, magnitude
