# Lab gcn in Triton, optimized: each vertex is scaled once, sixteen entries are added at a time, and the whole layer
# takes two kernels, since a program that has added up a row can normalise it as well.
import triton
import triton.language as tl
import warpgrade

FEATURES, CLASSES = 128, 16
ROWS = 16
ENTRIES = 16


@triton.jit
def find_scales(row_offsets, vertices, scales, ROWS: tl.constexpr):
    """1 / sqrt(entries) of each vertex, and 0 where it has none."""
    vertex = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = vertex < vertices
    begin = tl.load(row_offsets + vertex, mask=mask, other=0)
    degree = tl.load(row_offsets + vertex + 1, mask=mask, other=0) - begin
    scale = tl.where(degree > 0, 1.0 / tl.sqrt(tl.maximum(degree, 1).to(tl.float64)), 0.0)
    tl.store(scales + vertex, scale, mask=mask)


@triton.jit
def multiply(vertices, x, w, y, FEATURES: tl.constexpr, CLASSES: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column, part = tl.arange(0, CLASSES), tl.arange(0, 4)
    mask = row < vertices
    total = tl.zeros((ROWS, CLASSES), tl.float64)
    for begin in range(0, FEATURES, 4):  # four at a time: a row's numbers lie together
        feature = begin + part
        left = tl.load(x + row[:, None] * FEATURES + feature[None, :], mask=mask[:, None], other=0.0)
        right = tl.load(w + feature[:, None] * CLASSES + column[None, :])
        total += tl.sum(left[:, :, None] * right[None, :, :], axis=1)
    tl.store(y + row[:, None] * CLASSES + column[None, :], total, mask=mask[:, None])


@triton.jit
def log_softmax_of(values):
    values -= tl.max(values, axis=1)[:, None]
    return values - tl.log(tl.sum(tl.exp(values), axis=1))[:, None]


@triton.jit
def add_neighbours(
    row_offsets, columns, scales, y, z, NORMALISE: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, CLASSES)
    end = tl.load(row_offsets + row + 1)
    own = tl.load(scales + row)
    total = tl.zeros((CLASSES,), tl.float64)
    for start in range(tl.load(row_offsets + row), end, ENTRIES):
        entry = start + tl.arange(0, ENTRIES)
        mask = entry < end
        neighbour = tl.load(columns + entry, mask=mask, other=0)
        scale = own * tl.load(scales + neighbour, mask=mask, other=0.0)
        cells = y + neighbour.to(tl.int64)[:, None] * CLASSES + column[None, :]
        total += tl.sum(scale[:, None] * tl.load(cells, mask=mask[:, None], other=0.0), axis=0)
    sums = total[None, :]
    if NORMALISE:
        sums = log_softmax_of(sums)
    tl.store(z + row.to(tl.int64) * CLASSES + column[None, :], sums)


@triton.jit
def normalise(vertices, z, o, CLASSES: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    mask = (row < vertices)[:, None]
    cells = row[:, None] * CLASSES + tl.arange(0, CLASSES)[None, :]
    tl.store(o + cells, log_softmax_of(tl.load(z + cells, mask=mask, other=0.0)), mask=mask)


def plan(graph, stream):
    scales = warpgrade.empty(graph.vertices, "float64")
    find_scales[(triton.cdiv(graph.vertices, 256),)](graph.row_offsets, graph.vertices, scales, ROWS=256)
    return scales, warpgrade.empty((graph.vertices, CLASSES), "float64")


def transform(vertices, x, w, y, plan, stream):
    sizes = {"FEATURES": FEATURES, "CLASSES": CLASSES, "ROWS": ROWS}
    multiply[(triton.cdiv(vertices, ROWS),)](vertices, x, w, y, **sizes)


def add_up(graph, y, z, scales, is_last):
    sizes = {"NORMALISE": is_last, "CLASSES": CLASSES, "ENTRIES": ENTRIES}
    add_neighbours[(graph.vertices,)](graph.row_offsets, graph.columns, scales, y, z, **sizes, num_warps=1)


def aggregate(graph, y, z, plan, stream):
    add_up(graph, y, z, plan[0], False)


def log_softmax(vertices, z, o, plan, stream):
    normalise[(triton.cdiv(vertices, ROWS),)](vertices, z, o, CLASSES=CLASSES, ROWS=ROWS)


def run(graph, x, w, o, plan, stream):
    scales, y = plan
    transform(graph.vertices, x, w, y, plan, stream)
    add_up(graph, y, o, scales, True)
