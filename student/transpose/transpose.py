# Lab transpose: a matrix transposed, fp32. Yours to fill, in Python with Triton.
#
# Hand in this file or transpose.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=transpose
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Called many times, each time with other inputs. This is what is timed.
#   in      [rows, cols] fp32, device, read-only: row-major
#   rows    int32, the same in all runs
#   cols    int32, the same in all runs
#   out     [cols, rows] fp32, device: holds garbage on entry, so write every element: row-major: out[c,r] = in[r,c]
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(in_, rows, cols, out, stream):
    raise NotImplementedError  # take this line out when you have written it
