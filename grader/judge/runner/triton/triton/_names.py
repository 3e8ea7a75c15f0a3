"""Names that mean something inside of kernels alone."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType


class KernelName:
    """A name of triton.language. Host code may hold it and pass it on; it cannot do anything with it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> KernelName:
        if name.startswith("__") or name in {"fn", "data_ptr", "value"}:
            raise AttributeError(name)
        return KernelName(f"{self._name}.{name}")

    def __call__(self, *_args: object, **_options: object) -> object:
        raise RuntimeError(f"{self._name} works in functions with @triton.jit alone: this is host code")

    def __repr__(self) -> str:
        return self._name


def unknown_name(module: str, name: str) -> KernelName:
    """What a module of Triton's answers for a name that host code does not need."""
    if name.startswith("__"):
        raise AttributeError(name)
    return KernelName(f"{module}.{name}")


class _AnyModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import triton.x.y` finds a module whose names are all KernelNames."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("triton."):
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        module.__dict__["__getattr__"] = lambda attribute: unknown_name(name, attribute)


def answer_for_any_module() -> None:
    """From now on every module of Triton's can be imported."""
    sys.meta_path.append(_AnyModule())
