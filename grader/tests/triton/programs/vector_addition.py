"""After Triton's first tutorial: a sum of two arrays, whose length is no multiple of the block."""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    total = tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside)
    tl.store(out + places, total, mask=inside)


def add(x, y):
    out = np.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)](x, y, out, x.size, BLOCK=1024)
    return out


draw = np.random.default_rng(1)
x, y = (draw.random(98432, dtype=np.float32) for _ in range(2))
assert np.array_equal(add(x, y), x + y)
print("the sums agree")
