# The second configuration has no mask. A GPU might choose it; without one plan() checks it.
import triton
import triton.language as tl
import warpgrade


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256, "MASKED": True}), triton.Config({"BLOCK": 1024, "MASKED": False})], key=["n"]
)
@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (index < n) | (not MASKED)
    tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask), mask=mask)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def plan(n, stream):
    own = [warpgrade.zeros(n) for _ in range(3)]
    add[grid](own[0], own[1], n, own[2])


def run(a, b, n, c, stream):
    add[grid](a, b, n, c)
