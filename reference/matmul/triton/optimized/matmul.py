# Lab matmul in Triton, optimized: tiles loaded ahead, and an order of tiles that shares what L2 holds. plan() tries
# which size of tile is the quickest for a large product.
import triton
import triton.language as tl
import warpgrade

LARGE = 1 << 29  # products of numbers


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 64, "COLS": 64, "INNER": 16}, num_warps=4, num_stages=3),
        triton.Config({"ROWS": 128, "COLS": 64, "INNER": 16}, num_warps=8, num_stages=3),
        triton.Config({"ROWS": 128, "COLS": 128, "INNER": 16}, num_warps=8, num_stages=3),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def multiply(a, b, m, n, k, c, ROWS: tl.constexpr, COLS: tl.constexpr, INNER: tl.constexpr):
    tiles_down, tiles_across = tl.cdiv(m, ROWS), tl.cdiv(n, COLS)
    down, across = tl.swizzle2d(
        tl.program_id(0) // tiles_across, tl.program_id(0) % tiles_across, tiles_down, tiles_across, 8
    )
    row = down * ROWS + tl.arange(0, ROWS)
    col = across * COLS + tl.arange(0, COLS)
    inner = tl.arange(0, INNER)
    left = a + row[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + col[None, :]
    cells = tl.zeros((ROWS, COLS), tl.float32)
    for begin in range(0, k, INNER):
        rest = k - begin
        x = tl.load(left, mask=(row[:, None] < m) & (inner[None, :] < rest), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < rest) & (col[None, :] < n), other=0.0)
        cells = tl.dot(x, y, cells, input_precision="ieee")
        left += INNER
        right += INNER * n
    tl.store(c + row[:, None] * n + col[None, :], cells, mask=(row[:, None] < m) & (col[None, :] < n))


def start(a, b, m, n, k, c):
    multiply[lambda meta: (triton.cdiv(n, meta["COLS"]) * triton.cdiv(m, meta["ROWS"]),)](a, b, m, n, k, c)


def plan(m, n, k, stream):
    if m * n * k >= LARGE:
        start(warpgrade.zeros((m, k)), warpgrade.zeros((k, n)), m, n, k, warpgrade.empty((m, n)))


def run(a, b, m, n, k, c, stream):
    start(a, b, m, n, k, c)
