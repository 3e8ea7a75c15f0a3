import triton
import triton.language as tl


@triton.jit
def sum_of(x, y):
    return x + yy


@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(c + index, sum_of(tl.load(a + index, mask=mask), tl.load(b + index, mask=mask)), mask=mask)


def run(a, b, n, c, stream):
    add[(triton.cdiv(n, 256),)](a, b, n, c, BLOCK=256)
