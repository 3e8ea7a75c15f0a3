# Lab histogram in Triton, optimized: a program counts many ids in a histogram of its own, and adds that up once.
#
# tl.histogram holds its bins on the chip. Where there are too many of them, few ids meet in a bin, and atomic
# additions in global memory do.
import triton
import triton.language as tl

BLOCK = 1024
TURNS = 32  # blocks of ids that a program counts
MOST_BINS = 8192  # of a program
NODES_PER_BIN = 40


@triton.jit
def clear(counts, bins, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(counts + index, 0, mask=index < bins)


@triton.jit
def count_in_programs(
    ids,
    count,
    counts,
    bins,
    BINS: tl.constexpr,
    NODES_PER_BIN: tl.constexpr,
    BLOCK: tl.constexpr,
    TURNS: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * (BLOCK * TURNS)
    own = tl.zeros((BINS,), tl.int32)
    for turn in range(TURNS):
        index = first + turn * BLOCK + tl.arange(0, BLOCK)
        mask = index < count
        own += tl.histogram(tl.load(ids + index, mask=mask, other=0) // NODES_PER_BIN, BINS, mask=mask)
    bin_ = tl.arange(0, BINS)
    tl.atomic_add(counts + bin_, own, mask=(bin_ < bins) & (own > 0), sem="relaxed")


@triton.jit
def count_ids(ids, count, counts, NODES_PER_BIN: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    bins = tl.load(ids + index, mask=mask, other=0) // NODES_PER_BIN
    tl.atomic_add(counts + bins, 1, mask=mask, sem="relaxed")


def run(ids, count, nodes, counts, plan, stream):
    bins = counts.numel()
    clear[(triton.cdiv(bins, BLOCK),)](counts, bins, BLOCK=BLOCK)
    if bins > MOST_BINS:
        count_ids[(triton.cdiv(count, BLOCK),)](ids, count, counts, NODES_PER_BIN=NODES_PER_BIN, BLOCK=BLOCK)
        return
    sizes = {"BINS": max(32, triton.next_power_of_2(bins)), "NODES_PER_BIN": NODES_PER_BIN}
    count_in_programs[(triton.cdiv(count, BLOCK * TURNS),)](ids, count, counts, bins, **sizes, BLOCK=BLOCK, TURNS=TURNS)
