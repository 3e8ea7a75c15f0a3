# Lab histogram in Triton, naive: an atomic addition for each id.
import triton
import triton.language as tl

BLOCK = 1024
NODES_PER_BIN = 40


@triton.jit
def clear(counts, bins, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(counts + index, 0, mask=index < bins)


@triton.jit
def count_ids(ids, count, counts, NODES_PER_BIN: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    bins = tl.load(ids + index, mask=mask, other=0) // NODES_PER_BIN
    tl.atomic_add(counts + bins, 1, mask=mask, sem="relaxed")


def run(ids, count, nodes, counts, plan, stream):
    bins = counts.numel()
    clear[(triton.cdiv(bins, BLOCK),)](counts, bins, BLOCK=BLOCK)
    count_ids[(triton.cdiv(count, BLOCK),)](ids, count, counts, NODES_PER_BIN=NODES_PER_BIN, BLOCK=BLOCK)
