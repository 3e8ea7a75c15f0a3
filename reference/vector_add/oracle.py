"""The trusted sum, rounded once, as fp32 addition does."""


def vector_add(a, b):
    """c[i] = a[i] + b[i]."""
    return a + b
