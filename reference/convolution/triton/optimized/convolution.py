# Lab convolution in Triton, optimized: tiles of several rows, whose neighbours the L1 cache holds.
import triton
import triton.language as tl

ROWS, COLS = 8, 64


@triton.jit
def convolve(image, weights, ny, nx, radius, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    width = 2 * radius + 1
    total = tl.zeros((ROWS, COLS), tl.float32)
    for dy in range(0, width):
        y = row + dy - radius
        in_column = (y >= 0) & (y < ny)
        for dx in range(0, width):
            x = col + dx - radius
            inside = in_column[:, None] & ((x >= 0) & (x < nx))[None, :]
            cells = tl.load(image + y[:, None] * nx + x[None, :], mask=inside, other=0.0)
            total += tl.load(weights + dy * width + dx) * cells
    tl.store(out + row[:, None] * nx + col[None, :], total, mask=(row[:, None] < ny) & (col[None, :] < nx))


def run(in_, filter, ny, nx, radius, out, stream):  # noqa: A002
    grid = (triton.cdiv(nx, COLS), triton.cdiv(ny, ROWS))
    convolve[grid](in_, filter, ny, nx, radius, out, ROWS=ROWS, COLS=COLS)
