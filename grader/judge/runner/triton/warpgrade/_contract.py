"""The lab's call: lab.json, which the judge makes from lab.yaml, with arrays and numbers put in."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._tensor import DTYPES, Tensor


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


_FUNCTIONS = {
    "min": min,
    "max": max,
    "ceil_div": _ceil_div,
    "pow": pow,
    "sqrt": math.isqrt,
    "log2": lambda a: a.bit_length() - 1,
    "__builtins__": {},
}


def extent(expression: str, values: dict[str, int | float]) -> int:
    """A number of lab.yaml's arithmetic, in which `/` rounds down."""
    # The expression is the course's own, and this process holds nothing but the submission.
    return int(eval(expression.replace("/", "//"), dict(_FUNCTIONS), dict(values)))  # noqa: S307


def number(bits: int, kind: str) -> int | float:
    """A number as the judge sends it: whole, or the bits of a double."""
    if kind.startswith(("float", "bfloat")):
        return float(struct.unpack("<d", struct.pack("<Q", bits & (2**64 - 1)))[0])
    return bits - 2**64 if bits >= 2**63 and not kind.startswith("uint") else bits


class Structure:
    """Arrays and numbers under one name, as a structure of C++ has them: `a.rows`."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._name = name

    def __getattr__(self, field: str) -> object:
        known = ", ".join(name for name in self.__dict__ if not name.startswith("_"))
        raise AttributeError(f"{self.__dict__.get('_name')} has no {field}; it has {known}")


@dataclass
class Contract:
    """What is called with what. A run's first number chooses among several functions."""

    description: dict[str, Any]

    @property
    def lab(self) -> str:
        """The lab's name, which is the module's."""
        return str(self.description["lab"])

    @property
    def functions(self) -> list[str]:
        """What a module may define, but for free()."""
        return ["plan", *self.description["runs"]]

    def run_of(self, number: int) -> str:
        """The function that is timed: run(), or one of several."""
        runs = self.description["runs"]
        return str(runs[number if len(runs) > 1 else 0])

    def parameters(self, bits: list[int]) -> dict[str, int | float]:
        """The numbers that are the same in all runs."""
        return {p["name"]: number(bits[k], p["type"]) for k, p in enumerate(self.description["parameters"])}

    def scalars(self, bits: list[int]) -> dict[str, int | float]:
        """The numbers that are others in each run."""
        return {s["name"]: number(bits[k], s["type"]) for k, s in enumerate(self.description["scalars"])}

    def shape(self, array: str, values: dict[str, int | float]) -> tuple[int, ...]:
        """An array's dimensions in a case."""
        return tuple(extent(text, values) for text in self.description["arrays"][array]["shape"])

    def tensor(self, array: str, address: int, values: dict[str, int | float]) -> Tensor:
        """The array at an address."""
        dtype = DTYPES[self.description["arrays"][array]["dtype"]]
        return Tensor(address, self.shape(array, values), dtype)

    def arguments(
        self, call: str, values: dict[str, int | float], address_of: Callable[[str], int], plan: object, stream: int
    ) -> list[Any]:
        """What a function is called with. `values`: parameters, and of a run its scalars."""
        known = {**values, "plan": plan, "stream": stream}
        return [self._given(each, known, address_of) for each in self.description["functions"][call]]

    def _given(self, each: dict[str, Any], known: dict[str, Any], address_of: Callable[[str], int]) -> object:
        of, kind = each.get("of", each["name"]), each["kind"]
        if kind == "array":
            return self.tensor(of, address_of(self.description["arrays"][of]["buffer"]), known)
        if kind == "structure":
            fields = {field["name"]: self._given(field, known, address_of) for field in each["fields"]}
            return Structure(each["name"], fields)
        return known[of]
