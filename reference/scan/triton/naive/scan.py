# Lab scan in Triton, naive: sums of blocks, one program that adds them up in order, and the blocks once more.
import triton
import triton.language as tl
import warpgrade

BLOCK = 1024


@triton.jit
def block_sums(source, n, sums, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(source + index, mask=index < n, other=0), axis=0))


@triton.jit
def sums_before(sums, blocks, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    before = tl.full((), 0, tl.int32)
    for begin in range(0, blocks, BLOCK):
        mask = begin + lane < blocks
        x = tl.load(sums + begin + lane, mask=mask, other=0)
        tl.store(sums + begin + lane, before + tl.cumsum(x, axis=0) - x, mask=mask)
        before += tl.sum(x, axis=0)


@triton.jit
def scan_blocks(source, n, sums, target, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + index, mask=index < n, other=0)
    tl.store(target + index, tl.load(sums + tl.program_id(0)) + tl.cumsum(x, axis=0), mask=index < n)


def plan(n, stream):
    return warpgrade.empty(triton.cdiv(n, BLOCK), "int32")


def run(in_, n, out, plan, stream):
    blocks = triton.cdiv(n, BLOCK)
    block_sums[(blocks,)](in_, n, plan, BLOCK=BLOCK)
    sums_before[(1,)](plan, blocks, BLOCK=BLOCK)
    scan_blocks[(blocks,)](in_, n, plan, out, BLOCK=BLOCK)
