"""The convolution term by term, in fp64: a second implementation, which `labs verify` compares with the oracle."""

import numpy as np

ROWS = 32  # at a time: they fit the processor's cache


def convolve(image, weights):
    """The sum over the filter's cells of a weight times the shifted image."""
    side = weights.shape[0]
    rows, columns = image.shape
    padded = np.pad(image, side // 2)
    out = np.zeros(image.shape)
    term = np.empty((min(ROWS, rows), columns))
    for y in range(0, rows, ROWS):
        part = out[y : y + ROWS]
        height = part.shape[0]
        for dy in range(side):
            for dx in range(side):
                shifted = padded[y + dy : y + dy + height, dx : dx + columns]
                part += np.multiply(shifted, weights[dy, dx], out=term[:height])
    return out


def convolution(in_, filter):  # noqa: A002 - the array is called so
    """The image, and the sums of magnitudes that rounding errors grow with."""
    image, weights = in_.astype(np.float64), filter.astype(np.float64)
    return convolve(image, weights), convolve(np.abs(image), np.abs(weights))
