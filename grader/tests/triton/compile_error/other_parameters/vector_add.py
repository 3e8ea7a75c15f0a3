# run() has the parameters that the author expected, and not the contract's.
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + index, tl.load(a + index, mask=index < n) + tl.load(b + index, mask=index < n), mask=index < n)


def run(a, b, c):
    add[(triton.cdiv(c.numel(), 256),)](a, b, c, c.numel(), BLOCK=256)
