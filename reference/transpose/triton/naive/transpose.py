# Lab transpose in Triton, naive: a program for each block of a row, which it stores as a column.
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def transpose(source, rows, cols, target, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < cols
    tl.store(target + col.to(tl.int64) * rows + row, tl.load(source + row * cols + col, mask=mask), mask=mask)


def run(in_, rows, cols, out, stream):
    transpose[(rows, triton.cdiv(cols, BLOCK))](in_, rows, cols, out, BLOCK=BLOCK)
