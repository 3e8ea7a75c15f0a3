"""Launches in the run box: the key of a launch names the kernel that the compile box made for it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._runtime import Runtime
from ._specialise import Argument, Signature, grid_of, key_of

_C_TYPES: dict[str, Any] = {
    "i1": ctypes.c_uint8,
    "u1": ctypes.c_uint8,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}


TURNS = 8  # of a launch that is timed


class NotCompiledError(RuntimeError):
    """A launch that the compile box did not see."""


class _Compiled:
    """A kernel as it is launched."""

    def __init__(self, runtime: Runtime, folder: Path, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.symbol = runtime.register(folder / facts["file"], facts["name"])
        runtime.allow_shared(self.symbol, facts["shared"])
        runtime.allow_cluster(self.symbol, facts["ctas"])
        self.config = runtime.configuration(
            facts["shared"], 32 * facts["warps"], facts["ctas"], facts["cooperative"], facts["programmatic"]
        )
        self.scratch: dict[int, int] = {}  # by size


class Launcher:
    """Finds kernels by keys, and launches them."""

    def __init__(self, runtime: Runtime, folder: Path) -> None:
        self.runtime = runtime
        made = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))
        self.failed: dict[str, str] = {each["key"]: each["message"] for each in made["failed"]}
        self.kernels = {each["key"]: _Compiled(runtime, folder, each) for each in made["kernels"]}
        self.is_tuning = False  # while plan() runs
        self.has_gpu = bool(made.get("for_gpu"))

    def has(self, key: str) -> bool:
        """Whether the compile box made it."""
        return key in self.kernels

    def time_of(self, launch: Callable[[], None]) -> float:
        """A launch's milliseconds on a GPU. The emulator measures no speed: there it runs once, to be checked."""
        launch()
        return self.runtime.time_of(launch, TURNS) if self.has_gpu else 0.0

    def launch(
        self,
        function: Callable[..., Any],
        signature: Signature,
        grid: object,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """What kernel[grid](...) does."""
        values, options = signature.bind(args, kwargs)
        meanings = signature.arguments(values)
        extents = grid_of(grid, signature.names, values)
        key = key_of(function, meanings, options)
        kernel = self.kernels.get(key)
        if kernel is None:
            raise NotCompiledError(self._why_not(key))
        if 0 not in extents:
            self._start(kernel, extents, meanings, values)

    def _why_not(self, key: str) -> str:
        if key in self.failed:
            return f"the kernel does not compile for this launch: {self.failed[key]}"
        return (
            f"{key} was not compiled: run() launched nothing like it when it was tried with the shapes of the cases. "
            "Choose kernels and constants by shapes and types alone"
        )

    def _start(
        self, kernel: _Compiled, grid: tuple[int, int, int], meanings: list[Argument], values: list[Any]
    ) -> None:
        cells: list[Any] = []
        for meaning, value in zip(meanings, values, strict=True):
            if meaning.type == "constexpr":
                continue
            if meaning.type.startswith("*"):
                cells.append(ctypes.c_void_p(value.data_ptr()))
            else:
                cells.append(_C_TYPES[meaning.type](value))
        # Scratch memory, and a profiler's, which is not there.
        hidden = (self._scratch(kernel, grid), None)[: kernel.facts["hidden"]]
        cells += [ctypes.c_void_p(address) for address in hidden]
        places = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(cell) for cell in cells])
        blocks = (grid[0] * kernel.facts["ctas"], grid[1], grid[2])  # a program is a cluster
        self.runtime.launch(kernel.symbol, kernel.config, blocks, places)

    def _scratch(self, kernel: _Compiled, grid: tuple[int, int, int]) -> int | None:
        """Memory that Triton's code asks for, a piece for each program."""
        each = kernel.facts["scratch"]
        if each == 0:
            return None
        size = each * grid[0] * grid[1] * grid[2] * kernel.facts["ctas"]
        if size not in kernel.scratch:
            kernel.scratch[size] = self.runtime.allocate(size)
        return kernel.scratch[size]


class _Place:
    launcher: Launcher | None = None


def use_launcher(launcher: Launcher) -> None:
    """From now on kernels can be launched."""
    _Place.launcher = launcher


def launcher() -> Launcher:
    """Whoever launches."""
    if _Place.launcher is None:
        raise RuntimeError("kernels can be launched only while the judge calls plan, run and free")
    return _Place.launcher
