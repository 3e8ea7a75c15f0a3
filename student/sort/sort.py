# Lab sort: unsigned 32-bit keys sorted, ascending. Yours to fill, in Python with Triton.
#
# Hand in this file or sort.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=sort
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
#   keys    [n] uint32, device, read-only
#   n       int32, the same in all runs
#   sorted  [n] uint32, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(keys, n, sorted, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
