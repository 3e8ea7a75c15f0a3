"""What a submission in Python may use besides Triton: device memory of its own."""

from __future__ import annotations

from ._tensor import Tensor, empty, zeros

__all__ = ["Tensor", "empty", "zeros"]
