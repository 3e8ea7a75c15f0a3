# Lab convolution: an image convolved with a small filter, fp32. Yours to fill, in Python with Triton.
#
# Hand in this file or convolution.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=convolution
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Called many times, each time with other inputs. This is what is timed.
#   in      [ny, nx] fp32, device, read-only
#   filter  [2*radius + 1, 2*radius + 1] fp32, device, read-only
#   ny      int32, the same in all runs: rows of the image
#   nx      int32, the same in all runs: columns of the image
#   radius  int32, the same in all runs: the filter has 2 * radius + 1 rows and columns
#   out     [ny, nx] fp32, device: holds garbage on entry, so write every element: out[y][x] = sum over dy and dx of filter[dy][dx] * in[y + dy - radius][x + dx - radius]; what lies outside the image counts as 0
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(in_, filter, ny, nx, radius, out, stream):
    raise NotImplementedError  # take this line out when you have written it
