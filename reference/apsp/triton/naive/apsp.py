# Lab apsp in Triton, naive: Floyd and Warshall's rounds, a launch for each node that paths may go through.
import triton
import triton.language as tl

TILE = 32


@triton.jit(do_not_specialize=["k"])  # one kernel for all rounds
def relax(graph, n, k, TILE: tl.constexpr):
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    col = tl.program_id(0) * TILE + tl.arange(0, TILE)
    mask = (row[:, None] < n) & (col[None, :] < n)
    to_k = tl.load(graph + row * n + k, mask=row < n, other=0)
    from_k = tl.load(graph + k * n + col, mask=col < n, other=0)
    cells = graph + row[:, None] * n + col[None, :]
    known = tl.load(cells, mask=mask, other=0)
    through_k = to_k[:, None] + from_k[None, :]
    # Row and column k stay as they are: other programs read them meanwhile.
    tl.store(cells, through_k, mask=mask & (through_k < known))


def run(n, graph, plan, stream):
    tiles = triton.cdiv(n, TILE)
    for k in range(n):
        relax[(tiles, tiles)](graph, n, k, TILE=TILE)
