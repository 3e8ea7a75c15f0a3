# Lab matmul in Triton, a step: while a tile is multiplied, the next two are on their way (num_stages), and addresses
# grow by a step instead of being computed anew.
import triton
import triton.language as tl

ROWS, COLS, INNER = 64, 64, 16


@triton.jit
def multiply(a, b, m, n, k, c, ROWS: tl.constexpr, COLS: tl.constexpr, INNER: tl.constexpr):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    inner = tl.arange(0, INNER)
    left = a + row[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + col[None, :]
    cells = tl.zeros((ROWS, COLS), tl.float32)
    for begin in tl.range(0, k, INNER, num_stages=3):
        rest = k - begin
        x = tl.load(left, mask=(row[:, None] < m) & (inner[None, :] < rest), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < rest) & (col[None, :] < n), other=0.0)
        cells = tl.dot(x, y, cells, input_precision="ieee")
        left += INNER
        right += INNER * n
    tl.store(c + row[:, None] * n + col[None, :], cells, mask=(row[:, None] < m) & (col[None, :] < n))


def run(a, b, m, n, k, c, stream):
    grid = (triton.cdiv(n, COLS), triton.cdiv(m, ROWS))
    multiply[grid](a, b, m, n, k, c, ROWS=ROWS, COLS=COLS, INNER=INNER)
