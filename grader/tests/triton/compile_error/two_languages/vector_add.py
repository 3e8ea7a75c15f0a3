# Lab vector_add in Triton, naive: a program for each block of 256 numbers.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask), mask=mask)


def run(a, b, n, c, stream):
    add[(triton.cdiv(n, BLOCK),)](a, b, n, c, BLOCK=BLOCK)
