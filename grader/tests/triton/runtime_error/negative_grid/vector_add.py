# Takes the rest away twice, so that the number of programs is negative.
import triton
import triton.language as tl


@triton.jit
def fill(c, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + index, 0.0, mask=index < n)


def run(a, b, n, c, stream):
    fill[(n // 256 - n,)](c, n, BLOCK=256)
