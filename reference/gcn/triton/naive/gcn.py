# Lab gcn in Triton, naive: one step after the other, a program for a few rows or a row.
import triton
import triton.language as tl
import warpgrade

FEATURES, CLASSES = 128, 16
ROWS = 32


@triton.jit
def multiply(vertices, x, w, y, FEATURES: tl.constexpr, CLASSES: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, CLASSES)
    mask = row < vertices
    total = tl.zeros((ROWS, CLASSES), tl.float64)
    for feature in range(FEATURES):
        left = tl.load(x + row * FEATURES + feature, mask=mask, other=0.0)
        right = tl.load(w + feature * CLASSES + column)
        total += left[:, None] * right[None, :]
    tl.store(y + row[:, None] * CLASSES + column[None, :], total, mask=mask[:, None])


@triton.jit
def scale_of(row_offsets, vertex):
    """1 / sqrt(entries of the vertex), and 0 where it has none."""
    degree = tl.load(row_offsets + vertex + 1) - tl.load(row_offsets + vertex)
    return tl.where(degree > 0, 1.0 / tl.sqrt(tl.maximum(degree, 1).to(tl.float64)), 0.0)


@triton.jit
def add_neighbours(row_offsets, columns, y, z, CLASSES: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, CLASSES)
    own = scale_of(row_offsets, row)
    total = tl.zeros((CLASSES,), tl.float64)
    for entry in range(tl.load(row_offsets + row), tl.load(row_offsets + row + 1)):
        neighbour = tl.load(columns + entry)
        scale = own * scale_of(row_offsets, neighbour)
        total += scale * tl.load(y + neighbour.to(tl.int64) * CLASSES + column)
    tl.store(z + row.to(tl.int64) * CLASSES + column, total)


@triton.jit
def normalise(vertices, z, o, CLASSES: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, CLASSES)
    mask = (row < vertices)[:, None]
    cells = row[:, None] * CLASSES + column[None, :]
    values = tl.load(z + cells, mask=mask, other=0.0)
    values -= tl.max(values, axis=1)[:, None]
    tl.store(o + cells, values - tl.log(tl.sum(tl.exp(values), axis=1))[:, None], mask=mask)


def plan(graph, stream):
    return [warpgrade.empty((graph.vertices, CLASSES), "float64") for _ in range(2)]


def transform(vertices, x, w, y, plan, stream):
    multiply[(triton.cdiv(vertices, ROWS),)](vertices, x, w, y, FEATURES=FEATURES, CLASSES=CLASSES, ROWS=ROWS)


def aggregate(graph, y, z, plan, stream):
    add_neighbours[(graph.vertices,)](graph.row_offsets, graph.columns, y, z, CLASSES=CLASSES)


def log_softmax(vertices, z, o, plan, stream):
    normalise[(triton.cdiv(vertices, ROWS),)](vertices, z, o, CLASSES=CLASSES, ROWS=ROWS)


def run(graph, x, w, o, plan, stream):
    y, z = plan
    transform(graph.vertices, x, w, y, plan, stream)
    aggregate(graph, y, z, plan, stream)
    log_softmax(graph.vertices, z, o, plan, stream)
