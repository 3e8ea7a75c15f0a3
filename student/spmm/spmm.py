# Lab spmm: C = A * B: sparse (CSR) times dense, fp32. Yours to fill, in Python with Triton.
#
# Hand in this file or spmm.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=spmm
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Prepare: make what run() needs, and return it. Leave plan and free out when you need nothing.
# `import warpgrade` gives device memory: warpgrade.empty(shape, "float32").
def plan(a, k, stream):
    return None


# Called many times, each time with other inputs. This is what is timed.
#   a.rows         int32, the same in all runs
#   a.cols         int32, the same in all runs
#   a.nnz          int32, the same in all runs
#   a.row_offsets  [rows + 1] int32, device, read-only: where rows begin
#   a.columns      [nnz] int32, device, read-only: sorted within a row; repeated ones add up
#   a.values       [nnz] fp32, device, read-only
#   k              int32, the same in all runs: a multiple of 32
#   b              [cols, k] fp32, device, read-only
#   c              [rows, k] fp32, device: holds garbage on entry, so write every element
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(a, k, b, c, plan, stream):
    raise NotImplementedError  # take this line out when you have written it


# Release what plan() made. Device memory goes back by itself.
def free(plan):
    pass
