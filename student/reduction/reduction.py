# Lab reduction: the sums of two vectors, fp32 and integer. Yours to fill, in Python with Triton.
#
# Hand in this file or reduction.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=reduction
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Prepare: make what run() needs, and return it. Leave plan and free out when you need nothing.
# `import warpgrade` gives device memory: warpgrade.empty(shape, "float32").
def plan(n, stream):
    return None


# Called many times, each time with other inputs. This is what is timed.
#   x       [n] fp32, device, read-only
#   y       [n] int32, device, read-only
#   n       int32, the same in all runs
#   sum     [1] fp32, device: holds garbage on entry, so write every element: x[0] + ... + x[n-1], within the rounding errors of sums in fp32; exactly, if all x are whole numbers
#   total   [1] int64, device: holds garbage on entry, so write every element: y[0] + ... + y[n-1], exactly
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(x, y, n, sum, total, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
