# Lab matmul in Triton, naive: tiles of 32 x 32, products in fp32 and no less.
import triton
import triton.language as tl

TILE = 32


@triton.jit
def multiply(a, b, m, n, k, c, TILE: tl.constexpr):
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    col = tl.program_id(0) * TILE + tl.arange(0, TILE)
    lane = tl.arange(0, TILE)
    cells = tl.zeros((TILE, TILE), tl.float32)
    for begin in range(0, k, TILE):
        inner = begin + lane
        x = tl.load(a + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        y = tl.load(b + inner[:, None] * n + col[None, :], mask=(inner[:, None] < k) & (col[None, :] < n), other=0.0)
        cells = tl.dot(x, y, cells, input_precision="ieee")
    tl.store(c + row[:, None] * n + col[None, :], cells, mask=(row[:, None] < m) & (col[None, :] < n))


def run(a, b, m, n, k, c, stream):
    multiply[(triton.cdiv(n, TILE), triton.cdiv(m, TILE))](a, b, m, n, k, c, TILE=TILE)
