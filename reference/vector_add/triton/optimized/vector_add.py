# Lab vector_add in Triton, optimized: larger blocks, so that each thread loads 16 bytes at once, several times.
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 2048}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 1024}, num_warps=4),
    ],
    key=["n"],
)
@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x = tl.load(a + index, mask=mask, eviction_policy="evict_first")
    y = tl.load(b + index, mask=mask, eviction_policy="evict_first")
    tl.store(c + index, x + y, mask=mask)


def run(a, b, n, c, stream):
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, b, n, c)
