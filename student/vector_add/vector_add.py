# Lab vector_add: two vectors added. Yours to fill, in Python with Triton.
#
# Hand in this file or vector_add.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=vector_add
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Called many times, each time with other inputs. This is what is timed.
#   a       [n] fp32, device, read-only
#   b       [n] fp32, device, read-only
#   n       int32, the same in all runs
#   c       [n] fp32, device: holds garbage on entry, so write every element: c[i] = a[i] + b[i]
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(a, b, n, c, stream):
    raise NotImplementedError  # take this line out when you have written it
