"""triton.language, where no kernel is compiled: types and constants, and names."""

from __future__ import annotations

from typing import Any

from .._names import unknown_name


class constexpr:  # noqa: N801  # Triton's name
    """A constant of kernels."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401
        self.value: Any = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __index__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)


class dtype:  # noqa: N801  # Triton's name
    """A type of elements."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


_TYPES = {
    "int1": "int1",
    **{f"int{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "void": "void",
}
globals().update({name: dtype(triton) for name, triton in _TYPES.items()})


def __getattr__(name: str) -> object:
    return unknown_name("triton.language", name)
