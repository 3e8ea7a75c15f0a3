# Lab stencil in Triton, optimized: tiles of several rows, which walk through the planes and keep three of them.
import triton
import triton.language as tl

ROWS, COLS, PLANES = 8, 64, 16


@triton.jit
def step(source, nz, ny, nx, centre, side, target, ROWS: tl.constexpr, COLS: tl.constexpr, PLANES: tl.constexpr):
    x = (tl.program_id(0) * COLS + tl.arange(0, COLS))[None, :]
    y = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
    first = tl.program_id(2) * PLANES
    plane = ny * nx
    there = (x < nx) & (y < ny)
    inside = (x > 0) & (x < nx - 1) & (y > 0) & (y < ny - 1)
    place = first.to(tl.int64) * plane + y * nx + x
    below = tl.load(source + place - plane, mask=there & (first > 0), other=0.0)
    cell = tl.load(source + place, mask=there, other=0.0)
    for z in range(first, min(first + PLANES, nz)):
        above = tl.load(source + place + plane, mask=there & (z + 1 < nz), other=0.0)
        total = tl.load(source + place - 1, mask=inside, other=0.0) + tl.load(
            source + place + 1, mask=inside, other=0.0
        )
        total += tl.load(source + place - nx, mask=inside, other=0.0)
        total += tl.load(source + place + nx, mask=inside, other=0.0)
        total += below + above
        is_inner = inside & (z > 0) & (z < nz - 1)
        tl.store(target + place, tl.where(is_inner, centre * cell + side * total, cell), mask=there)
        below = cell
        cell = above
        place += plane


def run(in_, nz, ny, nx, centre, side, out, stream):
    grid = (triton.cdiv(nx, COLS), triton.cdiv(ny, ROWS), triton.cdiv(nz, PLANES))
    step[grid](in_, nz, ny, nx, centre, side, out, ROWS=ROWS, COLS=COLS, PLANES=PLANES)
