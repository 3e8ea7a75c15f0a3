"""The trusted image, in fp64: term by term where few weights or few cells are not 0, else by Fourier's transform.

A product of transforms is a convolution that wraps around; what wraps spoils the edge of a tile alone, and tiles
overlap by that much (overlap-save). Tiles fit the processor's cache, which makes them several times as fast as one
transform of the whole image. The error, some 10^-16 of the tile's and the filter's norm, is far below what fp32 may be
off where a sum has terms. Where it may have none it has to be 0: such an image is added up term by term.
"""

import numpy as np
from direct import convolve

FEW_WEIGHTS = 9
FEW_CELLS = 1 / 8  # of all
TILE = 128  # cells on a side; of filters larger than a quarter of that, four times the filter's


def _by_transform(image, weights):
    side = weights.shape[0]
    tile = max(TILE, 4 * side)
    step = tile - side + 1  # cells on a side of a tile that come out right
    rows, columns = (-(-extent // step) * step for extent in image.shape)
    padded = np.zeros((rows + side - 1, columns + side - 1))
    radius = side // 2
    padded[radius : radius + image.shape[0], radius : radius + image.shape[1]] = image
    # The filter is not flipped, so its transform is: out(f) = in(f) * conj(filter(f)).
    factors = np.conj(np.fft.rfft2(weights, (tile, tile)))
    out = np.empty((rows, columns))
    for y in range(0, rows, step):
        for x in range(0, columns, step):
            one = np.fft.rfft2(padded[y : y + tile, x : x + tile])
            one *= factors
            out[y : y + step, x : x + step] = np.fft.irfft2(one, (tile, tile))[:step, :step]
    return out[: image.shape[0], : image.shape[1]]


def convolution(in_, filter):  # noqa: A002 - the array is called so
    """The image, and the sums of magnitudes that rounding errors grow with."""
    image, weights = in_.astype(np.float64), filter.astype(np.float64)
    few = weights.size <= FEW_WEIGHTS or np.count_nonzero(image) <= FEW_CELLS * image.size
    one = convolve if few else _by_transform
    return one(image, weights), np.abs(one(np.abs(image), np.abs(weights)))
