import triton
import triton.language as tl


@triton.jit
def add_up(x, y, n, total_x, total_y, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    s = tl.sum(tl.load(x + index, mask=mask, other=0.0), axis=0)
    t = tl.sum(tl.load(y + index, mask=mask, other=0).to(tl.int64), axis=0)
    tl.store(total_x, tl.load(total_x) + s)
    tl.store(total_y, tl.load(total_y) + t)


def run(x, y, n, sum, total, plan, stream):
    sum.zero_()
    total.zero_()
    add_up[(triton.cdiv(n, 256),)](x, y, n, sum, total, BLOCK=256, num_warps=1)
