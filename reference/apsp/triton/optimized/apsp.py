# Lab apsp in Triton, optimized: rounds of 32 nodes at once, in three steps: the tile on the diagonal, the tiles of its
# row and column, all others.
import triton
import triton.language as tl

TILE = 32
INFINITY = tl.constexpr((1 << 30) - 1)


@triton.jit
def tile_at(graph, n, row, col):
    """Addresses and mask of a tile."""
    return graph + row[:, None] * n + col[None, :], (row[:, None] < n) & (col[None, :] < n)


@triton.jit
def shortest_through(graph, n, row, col, begin, TILE: tl.constexpr):
    """Of all ways from rows to columns through the nodes of a round."""
    best = tl.full((TILE, TILE), INFINITY, tl.int32)
    for k in range(begin, min(begin + TILE, n)):
        to_k = tl.load(graph + row * n + k, mask=row < n, other=INFINITY)
        from_k = tl.load(graph + k * n + col, mask=col < n, other=INFINITY)
        best = tl.minimum(best, to_k[:, None] + from_k[None, :])
    return best


@triton.jit(do_not_specialize=["turn"])
def on_the_diagonal(graph, n, turn, TILE: tl.constexpr):
    lane = tl.arange(0, TILE)
    cells, mask = tile_at(graph, n, turn * TILE + lane, turn * TILE + lane)
    tile = tl.load(cells, mask=mask, other=INFINITY)
    for k in range(TILE):
        to_k = tl.min(tl.where(lane[None, :] == k, tile, INFINITY), axis=1)
        from_k = tl.min(tl.where(lane[:, None] == k, tile, INFINITY), axis=0)
        tile = tl.minimum(tile, to_k[:, None] + from_k[None, :])
    tl.store(cells, tile, mask=mask)


@triton.jit(do_not_specialize=["turn"])
def row_and_column(graph, n, turn, TILE: tl.constexpr):
    lane = tl.arange(0, TILE)
    other = tl.program_id(0)
    other += (other >= turn).to(tl.int32)  # not the diagonal
    is_row = tl.program_id(1) == 0
    row = tl.where(is_row, turn, other) * TILE + lane
    col = tl.where(is_row, other, turn) * TILE + lane
    best = shortest_through(graph, n, row, col, turn * TILE, TILE)
    tl.debug_barrier()  # all threads have read the tile that is stored now
    cells, mask = tile_at(graph, n, row, col)
    tl.store(cells, best, mask=mask)


@triton.jit(do_not_specialize=["turn"])
def all_others(graph, n, turn, TILE: tl.constexpr):
    lane = tl.arange(0, TILE)
    across, down = tl.program_id(0), tl.program_id(1)
    row = (down + (down >= turn).to(tl.int32)) * TILE + lane
    col = (across + (across >= turn).to(tl.int32)) * TILE + lane
    best = shortest_through(graph, n, row, col, turn * TILE, TILE)
    cells, mask = tile_at(graph, n, row, col)
    tl.store(cells, tl.minimum(best, tl.load(cells, mask=mask, other=0)), mask=mask)


def run(n, graph, plan, stream):
    tiles = triton.cdiv(n, TILE)
    for turn in range(tiles):
        on_the_diagonal[(1,)](graph, n, turn, TILE=TILE)
        row_and_column[(tiles - 1, 2)](graph, n, turn, TILE=TILE)
        all_others[(tiles - 1, tiles - 1)](graph, n, turn, TILE=TILE)
