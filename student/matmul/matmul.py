# Lab matmul: C = A * B, dense, fp32. Yours to fill, in Python with Triton.
#
# Hand in this file or matmul.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=matmul
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Called many times, each time with other inputs. This is what is timed.
#   a       [m, k] fp32, device, read-only: row-major
#   b       [k, n] fp32, device, read-only: row-major
#   m       int32, the same in all runs
#   n       int32, the same in all runs
#   k       int32, the same in all runs
#   c       [m, n] fp32, device: holds garbage on entry, so write every element: row-major: sums of k products, in fp32 and no less
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(a, b, m, n, k, c, stream):
    raise NotImplementedError  # take this line out when you have written it
