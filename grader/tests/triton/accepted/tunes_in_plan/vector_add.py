# A lab without a plan: plan() tunes all the same. Without a GPU the first configuration is taken, and it alone is right.
import triton
import triton.language as tl
import warpgrade


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256, "MORE": 0}), triton.Config({"BLOCK": 512, "MORE": 1})],
    key=["n"],
    reset_to_zero=["c"],
)
@triton.jit
def add(a, b, n, c, BLOCK: tl.constexpr, MORE: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask) + MORE, mask=mask)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def plan(n, stream):
    own = [warpgrade.zeros(n) for _ in range(3)]
    add[grid](own[0], own[1], n, own[2])


def run(a, b, n, c, stream):
    add[grid](a, b, n, c)
