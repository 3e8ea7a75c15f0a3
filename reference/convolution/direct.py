"""The convolution term by term, in fp64: a second implementation, which `labs verify` compares with the oracle."""

import numpy as np


def convolve(image, weights):
    """The sum over the filter's cells of a weight times the shifted image."""
    side = weights.shape[0]
    radius = side // 2
    rows, columns = image.shape
    padded = np.pad(image, radius)
    out = np.zeros(image.shape)
    for dy in range(side):
        for dx in range(side):
            out += weights[dy, dx] * padded[dy : dy + rows, dx : dx + columns]
    return out


def convolution(in_, filter):  # noqa: A002 - the array is called so
    """The image, and the sums of magnitudes that rounding errors grow with."""
    image, weights = in_.astype(np.float64), filter.astype(np.float64)
    return convolve(image, weights), convolve(np.abs(image), np.abs(weights))
