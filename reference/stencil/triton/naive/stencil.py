# Lab stencil in Triton, naive: a program for each block of a row.
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def step(source, nz, ny, nx, centre, side, target, BLOCK: tl.constexpr):
    blocks = tl.cdiv(nx, BLOCK)  # of a row; all rows are one dimension of the grid: the others end at 65535
    row = tl.program_id(0) // blocks
    x = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    y = row % ny
    z = row // ny
    plane = ny * nx
    place = z.to(tl.int64) * plane + y * nx + x
    inside = (x > 0) & (x < nx - 1) & (y > 0) & (y < ny - 1) & (z > 0) & (z < nz - 1)
    cell = tl.load(source + place, mask=x < nx)
    total = tl.load(source + place - 1, mask=inside, other=0.0) + tl.load(source + place + 1, mask=inside, other=0.0)
    total += tl.load(source + place - nx, mask=inside, other=0.0) + tl.load(source + place + nx, mask=inside, other=0.0)
    total += tl.load(source + place - plane, mask=inside, other=0.0)
    total += tl.load(source + place + plane, mask=inside, other=0.0)
    tl.store(target + place, tl.where(inside, centre * cell + side * total, cell), mask=x < nx)


def run(in_, nz, ny, nx, centre, side, out, stream):
    step[(triton.cdiv(nx, BLOCK) * ny * nz,)](in_, nz, ny, nx, centre, side, out, BLOCK=BLOCK)
