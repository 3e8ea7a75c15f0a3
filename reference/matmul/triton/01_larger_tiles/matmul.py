# Lab matmul in Triton, a step: tiles of 64 x 64, so that each number that is loaded serves 64 products and not 32.
import triton
import triton.language as tl

ROWS, COLS, INNER = 64, 64, 16


@triton.jit
def multiply(a, b, m, n, k, c, ROWS: tl.constexpr, COLS: tl.constexpr, INNER: tl.constexpr):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    inner = tl.arange(0, INNER)
    cells = tl.zeros((ROWS, COLS), tl.float32)
    for begin in range(0, k, INNER):
        deep = begin + inner
        x = tl.load(a + row[:, None] * k + deep[None, :], mask=(row[:, None] < m) & (deep[None, :] < k), other=0.0)
        y = tl.load(b + deep[:, None] * n + col[None, :], mask=(deep[:, None] < k) & (col[None, :] < n), other=0.0)
        cells = tl.dot(x, y, cells, input_precision="ieee")
    tl.store(c + row[:, None] * n + col[None, :], cells, mask=(row[:, None] < m) & (col[None, :] < n))


def run(a, b, m, n, k, c, stream):
    grid = (triton.cdiv(n, COLS), triton.cdiv(m, ROWS))
    multiply[grid](a, b, m, n, k, c, ROWS=ROWS, COLS=COLS, INNER=INNER, num_stages=1)
