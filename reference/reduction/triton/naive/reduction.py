# Lab reduction in Triton, naive: a sum for each block, and one program that adds these up.
import triton
import triton.language as tl
import warpgrade

BLOCK = 1024


@triton.jit
def block_sums(x, y, n, sums, totals, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    index = program.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(sums + program, tl.sum(tl.load(x + index, mask=mask, other=0.0), axis=0))
    tl.store(totals + program, tl.sum(tl.load(y + index, mask=mask, other=0).to(tl.int64), axis=0))


@triton.jit
def add_up(sums, totals, blocks, sum_of_all, total_of_all, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    t = tl.zeros((BLOCK,), tl.int64)
    for begin in range(0, blocks, BLOCK):
        mask = begin + lane < blocks
        s += tl.load(sums + begin + lane, mask=mask, other=0.0)
        t += tl.load(totals + begin + lane, mask=mask, other=0)
    tl.store(sum_of_all, tl.sum(s, axis=0))
    tl.store(total_of_all, tl.sum(t, axis=0))


def plan(n, stream):
    blocks = triton.cdiv(n, BLOCK)
    return warpgrade.empty(blocks, "float32"), warpgrade.empty(blocks, "int64")


def run(x, y, n, sum, total, plan, stream):  # noqa: A002
    sums, totals = plan
    blocks = triton.cdiv(n, BLOCK)
    block_sums[(blocks,)](x, y, n, sums, totals, BLOCK=BLOCK)
    add_up[(1,)](sums, totals, blocks, sum, total, BLOCK=BLOCK)
