"""What a launch is compiled for: the rules of Triton 3.9, for the compile box and for the run box alike.

Each argument has a type and a hint, as Triton's own launcher finds them: constants become part of the code, an
integer that is 1 does, too, and the hint "D" says that an address or an integer is a multiple of 16.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ._tensor import DTYPES

DIVISIBLE = 16
_NAMES_OF_TYPES = {dtype.name: dtype.triton for dtype in DTYPES.values()} | {"bool": "i1"}
_TYPES = {*_NAMES_OF_TYPES.values(), "u1"}


@dataclass(frozen=True)
class Argument:
    """What one argument means for the code."""

    type: str  # "*fp32", "i32", "constexpr"
    hint: str = ""  # "D", or of a constant its text


def name_of_dtype(dtype: object) -> str:
    """As Triton writes it: "fp32"."""
    name = str(dtype).rpartition(".")[2]
    return _NAMES_OF_TYPES.get(name, name)


def constant_text(value: object) -> str:
    """A constant as part of a key: the same in both boxes, whose objects differ."""
    if isinstance(value, bool | int | float | str | type(None)):
        return repr(value)
    if isinstance(value, tuple | list):
        return "(" + ",".join(constant_text(each) for each in value) + ")"
    if hasattr(value, "fn"):  # a function with @triton.jit
        return f"jit:{value.fn.__module__}.{value.fn.__qualname__}"
    if type(value).__name__ == "constexpr":
        return constant_text(value.value)  # type: ignore[attr-defined]
    if hasattr(value, "name") and type(value).__name__ == "dtype":
        return f"type:{value.name}"
    raise TypeError(f"a {type(value).__name__} cannot be a constant argument of a kernel")


def _integer(value: int, specialise: bool, aligned: bool) -> Argument:
    if specialise and value == 1:
        return Argument("constexpr", "1")
    if -(2**31) <= value < 2**31:
        kind = "i32"
    elif -(2**63) <= value < 2**63:
        kind = "i64"
    elif 0 <= value < 2**64:
        kind = "u64"
    else:
        raise OverflowError(f"{value} does not fit into 64 bits")
    return Argument(kind, "D" if specialise and aligned and value % DIVISIBLE == 0 else "")


def argument(value: object, specialise: bool = True, aligned: bool = True) -> Argument:
    """What a value means that is no constant parameter's."""
    if value is None:
        return Argument("constexpr", "None")
    if isinstance(value, bool):
        return Argument("u1")
    if isinstance(value, int):
        return _integer(value, specialise, aligned)
    if isinstance(value, float):
        return Argument("fp32")
    if type(value).__name__ == "constexpr" or hasattr(value, "fn"):
        return Argument("constexpr", constant_text(value))
    if hasattr(value, "data_ptr"):
        is_divisible = specialise and aligned and value.data_ptr() % DIVISIBLE == 0
        return Argument("*" + name_of_dtype(value.dtype), "D" if is_divisible else "")  # type: ignore[attr-defined]
    raise TypeError(
        f"a kernel cannot be given a {type(value).__name__}: give arrays, numbers and constants (tl.constexpr)"
    )


@dataclass(frozen=True)
class Parameter:
    """A kernel's parameter, as its function declares it."""

    name: str
    default: object
    is_constant: bool
    specialise: bool
    aligned: bool
    type: str = ""  # where the annotation names one: "i64"


def _annotated_type(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else str(getattr(annotation, "__name__", annotation))
    name = text.strip().removeprefix("tl.")
    name = _NAMES_OF_TYPES.get(name, name)
    return name if name in _TYPES else ""


def is_constant(annotation: object) -> bool:
    """Whether an annotation says tl.constexpr."""
    text = annotation if isinstance(annotation, str) else str(getattr(annotation, "__name__", annotation))
    return "constexpr" in text


class Signature:
    """A kernel's parameters, and what a call gives for them."""

    def __init__(
        self, function: Callable[..., Any], untouched: Iterable[int | str] = (), unaligned: Iterable[int | str] = ()
    ) -> None:
        untouched, unaligned = set(untouched), set(unaligned)
        self.parameters = [
            Parameter(
                each.name,
                each.default,
                is_constant(each.annotation),
                not {number, each.name} & untouched,
                not {number, each.name} & unaligned,
                _annotated_type(each.annotation),
            )
            for number, each in enumerate(inspect.signature(function).parameters.values())
        ]
        self.names = [each.name for each in self.parameters]
        self.known = set(self.names)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values in order, and the options of the launch (num_warps ...)."""
        if len(args) > len(self.parameters):
            raise TypeError(f"{len(args)} arguments, where the kernel has {len(self.parameters)} parameters")
        values = list(args)
        options = {name: value for name, value in kwargs.items() if name not in self.known}
        for parameter in self.parameters[: len(args)]:
            if parameter.name in kwargs:
                raise TypeError(f"the argument {parameter.name} was given twice")
        for parameter in self.parameters[len(args) :]:
            if parameter.name in kwargs:
                values.append(kwargs[parameter.name])
            elif parameter.default is not inspect.Parameter.empty:
                values.append(parameter.default)
            else:
                raise TypeError(f"the argument {parameter.name} is missing")
        return values, options

    def arguments(self, values: list[Any]) -> list[Argument]:
        """What each value means for the code."""
        found = []
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.is_constant:
                found.append(Argument("constexpr", constant_text(value)))
                continue
            meaning = argument(value, parameter.specialise, parameter.aligned)
            if parameter.type and meaning.type != "constexpr":
                is_number = parameter.type[0] in "fb" or parameter.type == "u1"
                meaning = Argument(parameter.type, "" if is_number else meaning.hint)
            found.append(meaning)
        return found


def key_of(function: Callable[..., Any], arguments: list[Argument], options: dict[str, Any]) -> str:
    """The launch as text: `vector_add.add(*fp32:D, i32, constexpr:1024) num_warps=4`."""
    inside = ", ".join(each.type + (f":{each.hint}" if each.hint else "") for each in arguments)
    behind = "".join(f" {name}={constant_text(value)}" for name, value in sorted(options.items()))
    return f"{function.__module__}.{function.__qualname__}({inside}){behind}"


def grid_of(grid: object, names: list[str], values: list[Any]) -> tuple[int, int, int]:
    """How many programs there are in each direction."""
    if callable(grid):
        grid = grid(dict(zip(names, values, strict=True)))
    if isinstance(grid, int):
        grid = (grid,)
    extents = [int(extent) for extent in grid] + [1, 1]  # type: ignore[attr-defined]
    if min(extents) < 0:  # CUDA's numbers have no sign: -1 would be 4294967295
        raise ValueError(f"the grid is {tuple(extents[:-2])}: expected numbers of programs, 0 or more")
    return extents[0], extents[1], extents[2]
