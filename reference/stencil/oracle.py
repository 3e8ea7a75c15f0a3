"""The trusted step, in fp64."""

import numpy as np


def _step(cells, centre, side):
    out = cells.copy()
    if min(cells.shape) > 2:
        inside = cells[1:-1, 1:-1, 1:-1]
        around = cells[2:, 1:-1, 1:-1] + cells[:-2, 1:-1, 1:-1]
        around += cells[1:-1, 2:, 1:-1]
        around += cells[1:-1, :-2, 1:-1]
        around += cells[1:-1, 1:-1, 2:]
        around += cells[1:-1, 1:-1, :-2]
        out[1:-1, 1:-1, 1:-1] = centre * inside + side * around
    return out


def stencil(in_, centre, side):
    """The cells after one step, and the sums of magnitudes that rounding errors grow with."""
    cells = in_.astype(np.float64)
    return _step(cells, centre, side), _step(np.abs(cells), abs(centre), abs(side))
