"""The trusted image, in fp64: term by term where the filter is small, else by Fourier's transform.

A product of transforms is a convolution that wraps around; zeros behind both sides keep what wraps away from the image.
Its error, some 10^-16 of the image's and the filter's norm, is far below what fp32 may be off.
"""

import numpy as np
from direct import convolve

FEW_WEIGHTS = 9


def _by_transform(image, weights):
    radius = weights.shape[0] // 2
    shape = [_even(side + 2 * radius) for side in image.shape]
    # The filter is not flipped, so its transform is: out(f) = in(f) * conj(filter(f)), shifted by the radius.
    product = np.fft.rfft2(image, shape) * np.conj(np.fft.rfft2(weights, shape))
    whole = np.roll(np.fft.irfft2(product, shape), (radius, radius), axis=(0, 1))
    return whole[: image.shape[0], : image.shape[1]]


def _even(side):
    """The least number from `side` on whose only factors are 2, 3 and 5: others take the transform long."""
    while True:
        left = side
        for factor in (2, 3, 5):
            while left % factor == 0:
                left //= factor
        if left == 1 and side % 2 == 0:
            return side
        side += 1


def convolution(in_, filter):  # noqa: A002 - the array is called so
    """The image, and the sums of magnitudes that rounding errors grow with."""
    image, weights = in_.astype(np.float64), filter.astype(np.float64)
    one = convolve if weights.size <= FEW_WEIGHTS else _by_transform
    return one(image, weights), np.abs(one(np.abs(image), np.abs(weights)))
