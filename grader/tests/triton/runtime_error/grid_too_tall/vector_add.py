# The blocks are the grid's second dimension, which ends at 65535.
import triton
import triton.language as tl


@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask), mask=mask)


def launch(a, b, n, c):
    add[(1, triton.cdiv(n, 16) + 70000)](a, b, n, c, BLOCK=16)


def run(a, b, n, c, stream):
    launch(a, b, n, c)
