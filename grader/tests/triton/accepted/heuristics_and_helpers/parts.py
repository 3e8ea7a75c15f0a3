import triton


@triton.jit
def sum_of(x, y):
    return x + y
