# Lab transpose in Triton, optimized: square tiles, turned in shared memory, so that loads and stores are rows.
import triton
import triton.language as tl

TILE = 64


@triton.jit
def transpose(source, rows, cols, target, TILE: tl.constexpr):
    row = (tl.program_id(1) * TILE + tl.arange(0, TILE)).to(tl.int64)
    col = (tl.program_id(0) * TILE + tl.arange(0, TILE)).to(tl.int64)
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    tile = tl.load(source + row[:, None] * cols + col[None, :], mask=inside)
    tl.store(target + col[:, None] * rows + row[None, :], tl.trans(tile), mask=tl.trans(inside))


def run(in_, rows, cols, out, stream):
    transpose[(triton.cdiv(cols, TILE), triton.cdiv(rows, TILE))](in_, rows, cols, out, TILE=TILE, num_warps=8)
