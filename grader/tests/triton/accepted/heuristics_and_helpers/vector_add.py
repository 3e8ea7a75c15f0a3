import triton
import triton.language as tl
from parts import sum_of


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 512})], key=["n"])
@triton.heuristics({"WHOLE": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WHOLE:
        tl.store(c + index, sum_of(tl.load(a + index), tl.load(b + index)))
    else:
        mask = index < n
        tl.store(c + index, sum_of(tl.load(a + index, mask=mask), tl.load(b + index, mask=mask)), mask=mask)


def run(a, b, n, c, stream):
    half = n // 1024 * 512 + 512
    for first, last in ((0, half), (half, n)):
        if first < last:
            x, y, z = a[first:last], b[first:last], c[first:last]
            add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), z)
