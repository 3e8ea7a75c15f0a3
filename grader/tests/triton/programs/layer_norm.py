"""After Triton's fifth tutorial: a layer norm, and its gradients, which programs add up behind locks."""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def forward(x, y, weight, bias, means, scales, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        places = first + tl.arange(0, BLOCK)
        total += tl.load(x + places, mask=places < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        places = first + tl.arange(0, BLOCK)
        value = tl.load(x + places, mask=places < columns, other=0.0).to(tl.float32)
        value = tl.where(places < columns, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for first in range(0, columns, BLOCK):
        places = first + tl.arange(0, BLOCK)
        inside = places < columns
        value = tl.load(x + places, mask=inside, other=0.0).to(tl.float32)
        value = (value - mean) * scale * tl.load(weight + places, mask=inside) + tl.load(bias + places, mask=inside)
        tl.store(y + places, value, mask=inside)


@triton.jit
def backward(
    dx, dy, dw, db, x, weight, means, scales, locks, stride, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    lock = locks + row % GROUPS
    count = lock + GROUPS
    dw += row % GROUPS * columns + places
    db += row % GROUPS * columns + places
    value = tl.load(x + row * stride + places, mask=inside, other=0).to(tl.float32)
    gradient = tl.load(dy + row * stride + places, mask=inside, other=0).to(tl.float32)
    scale = tl.load(scales + row)
    normal = tl.where(inside, (value - tl.load(means + row)) * scale, 0.0)
    weighted = tl.where(inside, tl.load(weight + places, mask=inside).to(tl.float32) * gradient, 0.0)
    along = tl.sum(normal * weighted, axis=0) / columns
    tl.store(
        dx + row * stride + places,
        (weighted - normal * along - tl.sum(weighted, axis=0) / columns) * scale,
        mask=inside,
    )
    part_w, part_b = gradient * normal, gradient
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw, mask=inside)
        part_b += tl.load(db, mask=inside)
    tl.store(dw, part_w, mask=inside)
    tl.store(db, part_b, mask=inside)
    tl.debug_barrier()  # all of the program have stored before it lets the next one in
    tl.atomic_xchg(lock, 0)


rows, columns, groups = 37, 300, 4
draw = np.random.default_rng(5)
x, dy = (draw.standard_normal((rows, columns), dtype=np.float32) for _ in range(2))
weight, bias = (draw.standard_normal(columns, dtype=np.float32) for _ in range(2))
y, dx = np.empty_like(x), np.empty_like(x)
means, scales = np.empty(rows, np.float32), np.empty(rows, np.float32)
forward[(rows,)](x, y, weight, bias, means, scales, columns, columns, 1e-5, BLOCK=128, num_warps=4)
normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
assert np.allclose(y, normal * weight + bias, rtol=1e-4, atol=1e-5)

locks = np.zeros(2 * groups, np.int32)
dw, db = np.zeros((groups, columns), np.float32), np.zeros((groups, columns), np.float32)
backward[(rows,)](dx, dy, dw, db, x, weight, means, scales, locks, columns, columns, GROUPS=groups, BLOCK=512)
weighted = weight * dy
along, level = (normal * weighted).mean(axis=1, keepdims=True), weighted.mean(axis=1, keepdims=True)
assert np.allclose(dx, (weighted - normal * along - level) * scales[:, None], rtol=1e-3, atol=1e-4)
assert np.allclose(dw.sum(axis=0), (dy * normal).sum(axis=0), rtol=1e-3, atol=1e-4)
assert np.allclose(db.sum(axis=0), dy.sum(axis=0), rtol=1e-3, atol=1e-4)
print("the layer norm and its gradients agree")
