# Lab spmm in Triton, optimized: several entries of a row at a time where rows are long, several rows at a time where
# they are short, and very long rows in pieces that several programs add up.
#
# plan() cannot read A on the host. So a kernel lists the pieces, and run() starts as many programs as there may be.
import triton
import triton.language as tl
import warpgrade

PIECE = 512  # entries; longer rows are split
ROWS = 128  # of a program that lists pieces
SHORT, TOGETHER = 6, 8  # entries of a mean row; such rows of a program


@triton.jit
def list_pieces(row_offsets, rows, count, piece_rows, piece_begins, PIECE: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = row < rows
    begin = tl.load(row_offsets + row, mask=mask, other=0)
    length = tl.load(row_offsets + row + 1, mask=mask, other=0) - begin
    pieces = tl.where(length > PIECE, tl.cdiv(length, PIECE), 0)
    first = tl.atomic_add(count + tl.zeros_like(row), pieces, mask=pieces > 0)
    for piece in range(tl.max(pieces)):
        tl.store(piece_rows + first + piece, row, mask=piece < pieces)
        tl.store(piece_begins + first + piece, begin + piece * PIECE, mask=piece < pieces)


@triton.jit
def sum_entries(begin, end, columns, values, b, k, col, WIDTH: tl.constexpr, ENTRIES: tl.constexpr):
    total = tl.zeros((WIDTH,), tl.float32)
    for start in range(begin, end, ENTRIES):
        entry = start + tl.arange(0, ENTRIES)
        mask = entry < end
        column = tl.load(columns + entry, mask=mask, other=0).to(tl.int64)  # column * k may exceed 2^31
        value = tl.load(values + entry, mask=mask, other=0.0)
        part = tl.load(b + column[:, None] * k + col[None, :], mask=mask[:, None], other=0.0)
        total += tl.sum(value[:, None] * part, axis=0)
    return total


@triton.jit
def multiply_rows(
    row_offsets, columns, values, b, k, c, PIECE: tl.constexpr, WIDTH: tl.constexpr, ENTRIES: tl.constexpr
):
    row = tl.program_id(0)
    col = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    begin, end = tl.load(row_offsets + row), tl.load(row_offsets + row + 1)
    end = tl.where(end - begin > PIECE, begin, end)  # a long row begins as 0
    total = sum_entries(begin, end, columns, values, b, k, col, WIDTH, ENTRIES)
    tl.store(c + row.to(tl.int64) * k + col, total)


@triton.jit
def multiply_short_rows(
    row_offsets, columns, values, b, rows, k, c, PIECE: tl.constexpr, WIDTH: tl.constexpr, TOGETHER: tl.constexpr
):
    row = tl.program_id(0) * TOGETHER + tl.arange(0, TOGETHER)
    col = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    mask = row < rows
    begin = tl.load(row_offsets + row, mask=mask, other=0)
    length = tl.load(row_offsets + row + 1, mask=mask, other=0) - begin
    length = tl.where(length > PIECE, 0, length)  # a long row begins as 0
    total = tl.zeros((TOGETHER, WIDTH), tl.float32)
    for step in range(tl.max(length)):
        there = step < length
        column = tl.load(columns + begin + step, mask=there, other=0).to(tl.int64)  # column * k may exceed 2^31
        value = tl.load(values + begin + step, mask=there, other=0.0)
        total += value[:, None] * tl.load(b + column[:, None] * k + col[None, :], mask=there[:, None], other=0.0)
    tl.store(c + row.to(tl.int64)[:, None] * k + col[None, :], total, mask=mask[:, None])


@triton.jit
def add_pieces(
    row_offsets,
    columns,
    values,
    b,
    k,
    c,
    count,
    piece_rows,
    piece_begins,
    PIECE: tl.constexpr,
    WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
):
    piece = tl.program_id(0)
    if piece < tl.load(count):
        col = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        row = tl.load(piece_rows + piece)
        begin = tl.load(piece_begins + piece)
        end = tl.minimum(begin + PIECE, tl.load(row_offsets + row + 1))
        total = sum_entries(begin, end, columns, values, b, k, col, WIDTH, ENTRIES)
        tl.atomic_add(c + row.to(tl.int64) * k + col, total, sem="relaxed")


def plan(a, k, stream):
    most = 2 * a.nnz // PIECE  # a long row has more than PIECE entries, and at most two pieces for each PIECE of them
    count = warpgrade.zeros(1, "int32")
    rows, begins = warpgrade.empty(most + 1, "int32"), warpgrade.empty(most + 1, "int32")
    if most:
        list_pieces[(triton.cdiv(a.rows, ROWS),)](a.row_offsets, a.rows, count, rows, begins, PIECE=PIECE, ROWS=ROWS)
    return most, count, rows, begins


def run(a, k, b, c, plan, stream):
    most, count, rows, begins = plan
    width = min(k & -k, 128)
    matrix = (a.row_offsets, a.columns, a.values, b)
    entries = min(16, max(2, triton.next_power_of_2(a.nnz // max(1, a.rows))))  # at a time
    sizes = {"PIECE": PIECE, "WIDTH": width, "ENTRIES": entries, "num_warps": 1}
    if a.nnz <= SHORT * a.rows:
        grid = (triton.cdiv(a.rows, TOGETHER), k // width)
        warps = 2 if width == 32 else 4
        multiply_short_rows[grid](*matrix, a.rows, k, c, PIECE=PIECE, WIDTH=width, TOGETHER=TOGETHER, num_warps=warps)
    else:
        multiply_rows[(a.rows, k // width)](*matrix, k, c, **sizes)
    if most:
        add_pieces[(most, k // width)](*matrix, k, c, count, rows, begins, **sizes)
