import triton
import triton.language as tl


@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + index, tl.load(a + index) + tl.load(b + index))


def run(a, b, n, c, stream):
    add[(triton.cdiv(n, 256),)](a, b, n, c, BLOCK=256)
