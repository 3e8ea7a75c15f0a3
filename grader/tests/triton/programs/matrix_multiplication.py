"""After Triton's third tutorial: a product of half-precision matrices, by tiles in an order for the L2 cache, tuned."""

import numpy as np
import triton
import triton.language as tl

SIZES = [(64, 64, 32, 8, 4), (64, 32, 32, 8, 2), (32, 64, 64, 4, 2)]


def configurations():
    return [
        triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": group}, num_stages=3, num_warps=warps)
        for m, n, k, group, warps in SIZES
    ]


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    tile_m = first + program % in_group % height
    tile_n = program % in_group // height

    rows, columns, depth = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    from_a = a + (rows % M)[:, None] * a_row + depth[None, :] * a_column
    from_b = b + depth[:, None] * b_row + (columns % N)[None, :] * b_column
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(from_a, mask=depth[None, :] < K - k * BK, other=0.0)
        right = tl.load(from_b, mask=depth[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        from_a += BK * a_column
        from_b += BK * b_row
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * c_row + columns[None, :] * c_column, total.to(tl.float16), mask=inside)


def matmul(a, b, activation=""):
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), dtype=np.float16)
    strides = [stride // 2 for each in (a, b, c) for stride in each.strides]
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](
        a, b, c, m, n, k, *strides, ACTIVATION=activation
    )
    return c


draw = np.random.default_rng(3)
a = draw.standard_normal((150, 97)).astype(np.float16)
b = draw.standard_normal((131, 97)).astype(np.float16).T  # its columns lie behind each other
exact = a.astype(np.float32) @ b.astype(np.float32)
assert np.allclose(matmul(a, b), exact, rtol=2e-3, atol=2e-2)
assert np.allclose(matmul(a, b, "leaky_relu"), np.where(exact >= 0, exact, 0.01 * exact), rtol=2e-3, atol=2e-2)
print("the products agree")
