import triton
import triton.language as tl


@triton.jit
def add_up(x, y, n, total_x, total_y, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.atomic_add(total_x, tl.sum(tl.load(x + index, mask=mask, other=0.0), axis=0))
    tl.atomic_add(total_y, tl.sum(tl.load(y + index, mask=mask, other=0).to(tl.int64), axis=0))


def run(x, y, n, sum, total, plan, stream):
    add_up[(triton.cdiv(n, 1024),)](x, y, n, sum, total, BLOCK=1024)  # nobody has set them to 0
