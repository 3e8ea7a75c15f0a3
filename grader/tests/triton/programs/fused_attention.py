"""After Triton's sixth tutorial: attention in one kernel with an online softmax, by descriptors made in the kernel."""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def inner(total, weights, most, q, keys, values, first, last, row_tile, rows, scale,
          BM: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    for column in range(first, last, BN):
        products = tl.dot(q, keys.load([column, 0]).T)
        if MASKED:
            columns = column + tl.arange(0, BN)
            products = products * scale + tl.where(rows[:, None] >= columns[None, :], 0, -1.0e6)
            higher = tl.maximum(most, tl.max(products, 1))
            products -= higher[:, None]
        else:
            higher = tl.maximum(most, tl.max(products, 1) * scale)
            products = products * scale - higher[:, None]
        powers = tl.math.exp2(products)
        shrink = tl.math.exp2(most - higher)
        weights = weights * shrink + tl.sum(powers, 1)
        total = tl.dot(powers.to(tl.float16), values.load([column, 0]), total * shrink[:, None])
        most = higher
    return total, weights, most


@triton.jit
def attention(q, k, v, out, scale, LENGTH: tl.constexpr, HEAD: tl.constexpr,
              BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    tile, batch = tl.program_id(0), tl.program_id(1)
    offset = batch.to(tl.int64) * LENGTH * HEAD
    keys = tl.make_tensor_descriptor(k + offset, [LENGTH, HEAD], [HEAD, 1], [BN, HEAD])
    values = tl.make_tensor_descriptor(v + offset, [LENGTH, HEAD], [HEAD, 1], [BN, HEAD])
    queries = tl.make_tensor_descriptor(q + offset, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    outputs = tl.make_tensor_descriptor(out + offset, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    rows = tile * BM + tl.arange(0, BM)
    most = tl.full([BM], -float("inf"), dtype=tl.float32)
    weights = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, HEAD], dtype=tl.float32)
    tile_of_queries = queries.load([tile * BM, 0])
    whole = tile * BM if CAUSAL else LENGTH
    total, weights, most = inner(
        total, weights, most, tile_of_queries, keys, values, 0, whole, tile, rows, scale, BM, BN, False
    )
    if CAUSAL:
        total, weights, most = inner(
            total, weights, most, tile_of_queries, keys, values, whole, whole + BM, tile, rows, scale, BM, BN, True
        )
    outputs.store([tile * BM, 0], (total / weights[:, None]).to(tl.float16))


batches, length, head = 3, 128, 64
draw = np.random.default_rng(6)
q, k, v = (draw.standard_normal((batches, length, head)).astype(np.float16) for _ in range(3))
triton.set_allocator(lambda size, _alignment, _stream: np.empty(size, np.int8))
for causal in (False, True):
    out = np.empty_like(q)
    scale = 1.4426950408889634 / head**0.5
    attention[(length // 64, batches)](q, k, v, out, scale, length, head, BM=64, BN=32, CAUSAL=causal)
    exact = q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) / head**0.5
    if causal:
        exact = np.where(np.tril(np.ones((length, length), bool)), exact, -np.inf)
    powers = np.exp(exact - exact.max(axis=2, keepdims=True))
    exact = powers / powers.sum(axis=2, keepdims=True) @ v.astype(np.float32)
    assert np.allclose(out, exact, rtol=5e-3, atol=5e-3), causal
print("the attention agrees")
