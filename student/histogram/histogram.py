# Lab histogram: ids counted in bins of 40 nodes. Yours to fill, in Python with Triton.
#
# Hand in this file or histogram.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=histogram
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Prepare: make what run() needs, and return it. Leave plan and free out when you need nothing.
# `import warpgrade` gives device memory: warpgrade.empty(shape, "float32").
def plan(count, nodes, stream):
    return None


# Called many times, each time with other inputs. This is what is timed.
#   ids     [count] int32, device, read-only
#   count   int32, the same in all runs: ids of each run
#   nodes   int32, the same in all runs: ids are in [0, nodes)
#   counts  [ceil_div(nodes, 40)] uint32, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(ids, count, nodes, counts, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
