# Lab stencil: one step of a seven-point stencil in three dimensions, fp32. Yours to fill, in Python with Triton.
#
# Hand in this file or stencil.cu, not both. As it stands it says that it is not written yet:
# `make test` then skips the lab instead of failing it. student/python.md explains what is here.
#
# Try it:  make test LAB=stencil
import triton
import triton.language as tl


@triton.jit
def your_kernel(n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n  # the last program may have more elements than there are


# Called many times, each time with other inputs. This is what is timed.
#   in      [nz, ny, nx] fp32, device, read-only
#   nz      int32, the same in all runs
#   ny      int32, the same in all runs
#   nx      int32, the same in all runs
#   centre  fp32, another one in each run: the weight of the cell itself
#   side    fp32, another one in each run: the weight of each of its six neighbours
#   out     [nz, ny, nx] fp32, device: holds garbage on entry, so write every element: centre * in + side * (sum of the six neighbours); cells at a face of the box are copied
# Launch kernels here: kernel[grid](...). They run on `stream`, in order.
def run(in_, nz, ny, nx, centre, side, out, stream):
    raise NotImplementedError  # take this line out when you have written it
