# Lab apsp: shortest paths between all pairs of nodes, int32, in place. Yours to fill, in Python with Triton.
#
# Hand in this file or apsp.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=apsp
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
#   n       int32, the same in all runs: nodes
#   graph   [n, n] int32, device, worked on in place: 2^30 - 1 where there is no edge, or no path
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(n, graph, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
