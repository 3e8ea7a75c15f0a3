# Lab convolution in Triton, naive: a program for each block of a row, which loads every neighbour anew.
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def convolve(image, weights, ny, nx, radius, out, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    width = 2 * radius + 1
    total = tl.zeros((BLOCK,), tl.float32)
    for dy in range(0, width):
        y = row + dy - radius
        if (y >= 0) & (y < ny):
            for dx in range(0, width):
                x = col + dx - radius
                cell = tl.load(image + y * nx + x, mask=(x >= 0) & (x < nx), other=0.0)
                total += tl.load(weights + dy * width + dx) * cell
    tl.store(out + row * nx + col, total, mask=col < nx)


def run(in_, filter, ny, nx, radius, out, stream):  # noqa: A002
    convolve[(triton.cdiv(nx, BLOCK), ny)](in_, filter, ny, nx, radius, out, BLOCK=BLOCK)
