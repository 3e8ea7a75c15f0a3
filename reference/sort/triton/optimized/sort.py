# Lab sort in Triton, optimized: four bits at a time; counts of each block say where its keys go.
import triton
import triton.language as tl
import warpgrade

BLOCK, BITS = 1024, 4
DIGITS = 1 << BITS


@triton.jit
def count(keys, n, shift, blocks, counts, BLOCK: tl.constexpr, DIGITS: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    digit = (tl.load(keys + index, mask=index < n, other=0) >> shift) & (DIGITS - 1)
    digit = tl.where(index < n, digit.to(tl.int32), DIGITS)
    for d in range(0, DIGITS):
        tl.store(counts + d * blocks + tl.program_id(0), tl.sum((digit == d).to(tl.int32), axis=0))


@triton.jit
def add_before(counts, cells, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    before = tl.full((), 0, tl.int32)
    for begin in range(0, cells, BLOCK):
        mask = begin + lane < cells
        x = tl.load(counts + begin + lane, mask=mask, other=0)
        tl.store(counts + begin + lane, before + tl.cumsum(x, axis=0) - x, mask=mask)
        before += tl.sum(x, axis=0)


@triton.jit
def move(keys, n, shift, blocks, counts, target, BLOCK: tl.constexpr, DIGITS: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + index, mask=index < n, other=0)
    digit = tl.where(index < n, ((key >> shift) & (DIGITS - 1)).to(tl.int32), DIGITS)
    place = tl.zeros((BLOCK,), tl.int32)
    for d in range(0, DIGITS):
        is_mine = (digit == d).to(tl.int32)
        begin = tl.load(counts + d * blocks + tl.program_id(0))
        place += is_mine * (begin + tl.cumsum(is_mine, axis=0) - 1)
    tl.store(target + place, key, mask=index < n)


def plan(n, stream):
    return warpgrade.empty(n, "uint32"), warpgrade.empty(DIGITS * triton.cdiv(n, BLOCK), "int32")


def run(keys, n, sorted, plan, stream):  # noqa: A002
    other, counts = plan
    blocks = triton.cdiv(n, BLOCK)
    source = keys
    for turn in range(32 // BITS):
        target = sorted if turn % 2 == 1 else other
        count[(blocks,)](source, n, turn * BITS, blocks, counts, BLOCK=BLOCK, DIGITS=DIGITS)
        add_before[(1,)](counts, DIGITS * blocks, BLOCK=4096, num_warps=8)
        move[(blocks,)](source, n, turn * BITS, blocks, counts, target, BLOCK=BLOCK, DIGITS=DIGITS)
        source = target
