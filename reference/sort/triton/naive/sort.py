# Lab sort in Triton, naive: a bitonic network over global memory, a launch for each of its steps.
import triton
import triton.language as tl
import warpgrade

BLOCK = 512
LARGEST = 0xFFFFFFFF


@triton.jit
def fill(keys, n, padded, room, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(room + index, tl.load(keys + index, mask=index < n, other=0xFFFFFFFF), mask=index < padded)


@triton.jit(do_not_specialize=["distance", "run"])
def compare(room, half, distance, run, BLOCK: tl.constexpr):
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = pair < half
    left = (pair // distance) * (2 * distance) + pair % distance
    right = left + distance
    x = tl.load(room + left, mask=mask)
    y = tl.load(room + right, mask=mask)
    # Runs go up and down in turn, until one run is all.
    swap = (x > y) == ((left & run) == 0)
    tl.store(room + left, tl.where(swap, y, x), mask=mask)
    tl.store(room + right, tl.where(swap, x, y), mask=mask)


@triton.jit
def take(room, n, keys, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(keys + index, tl.load(room + index, mask=index < n), mask=index < n)


def plan(n, stream):
    return warpgrade.empty(triton.next_power_of_2(n), "uint32")


def run(keys, n, sorted, plan, stream):  # noqa: A002
    padded = triton.next_power_of_2(n)
    blocks = triton.cdiv(padded, BLOCK)
    fill[(blocks,)](keys, n, padded, plan, BLOCK=BLOCK)
    run_length = 2
    while run_length <= padded:
        distance = run_length // 2
        while distance > 0:
            compare[(triton.cdiv(padded // 2, BLOCK),)](plan, padded // 2, distance, run_length, BLOCK=BLOCK)
            distance //= 2
        run_length *= 2
    take[(blocks,)](plan, n, sorted, BLOCK=BLOCK)
