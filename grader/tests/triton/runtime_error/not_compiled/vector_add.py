import triton
import triton.language as tl

calls = 0


@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask), mask=mask)


def run(a, b, n, c, stream):
    global calls
    calls += 1
    block = 256 if calls < 100 and a.data_ptr() >= 1 << 39 and a.data_ptr() < 1 << 46 else 512
    add[(triton.cdiv(n, block),)](a, b, n, c, BLOCK=block)
