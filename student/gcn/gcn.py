# Lab gcn: a graph convolution's layer in fp64, by operator and whole. Yours to fill, in Python with Triton.
#
# Hand in this file or gcn.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=gcn
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Prepare: make what run() needs, and return it. Leave plan and free out when you need nothing.
# `import warpgrade` gives device memory: warpgrade.empty(shape, "float32").
def plan(graph, stream):
    return None


# Called many times, each time with other inputs. This is what is timed.
#   vertices  int32, the same in all runs
#   x         [vertices, 128] fp64, device, read-only
#   w         [128, 16] fp64, device, read-only
#   y         [vertices, 16] fp64, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def transform(vertices, x, w, y, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Called many times, each time with other inputs. This is what is timed.
#   graph.vertices     int32, the same in all runs
#   graph.nnz          int32, the same in all runs: entries of the graph
#   graph.row_offsets  [vertices + 1] int32, device, read-only: where rows begin
#   graph.columns      [nnz] int32, device, read-only: sorted within a row
#   y                  [vertices, 16] fp64, device, read-only
#   z                  [vertices, 16] fp64, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def aggregate(graph, y, z, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Called many times, each time with other inputs. This is what is timed.
#   vertices  int32, the same in all runs
#   z         [vertices, 16] fp64, device, read-only
#   o         [vertices, 16] fp64, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def log_softmax(vertices, z, o, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Called many times, each time with other inputs. This is what is timed.
#   graph.vertices     int32, the same in all runs
#   graph.nnz          int32, the same in all runs: entries of the graph
#   graph.row_offsets  [vertices + 1] int32, device, read-only: where rows begin
#   graph.columns      [nnz] int32, device, read-only: sorted within a row
#   x                  [vertices, 128] fp64, device, read-only
#   w                  [128, 16] fp64, device, read-only
#   o                  [vertices, 16] fp64, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(graph, x, w, o, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
