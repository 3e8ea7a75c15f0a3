# Lab softmax in Triton, naive: a program for each row, which it reads three times.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def softmax(source, cols, target, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    largest = tl.full((), float("-inf"), tl.float32)
    for begin in range(0, cols, BLOCK):
        col = begin + lane
        x = tl.load(source + row * cols + col, mask=col < cols, other=float("-inf"))
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = tl.full((), 0.0, tl.float32)
    for begin in range(0, cols, BLOCK):
        col = begin + lane
        x = tl.load(source + row * cols + col, mask=col < cols, other=float("-inf"))
        total += tl.sum(tl.exp(x - largest), axis=0)
    for begin in range(0, cols, BLOCK):
        col = begin + lane
        x = tl.load(source + row * cols + col, mask=col < cols)
        tl.store(target + row * cols + col, tl.exp(x - largest) / total, mask=col < cols)


def run(in_, rows, cols, out, stream):
    softmax[(rows,)](in_, cols, out, BLOCK=BLOCK)
