"""What programs with kernels of Numba need of the emulator beyond its libcuda: `warpemu python FILE` sees to it.

Numba finds the driver by its name. Of nvJitLink and NVRTC it prefers NVIDIA's own beside it in the Python, which make
machine code; a library that is loaded already comes first, so the emulator's are loaded. Kernels get lines.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

DECORATORS = "numba.cuda.decorators"
DISPATCHER = "numba.cuda.dispatcher"
LINKERS = ("libnvJitLink.so.*", "libnvrtc.so.*")


@functools.cache
def load_linkers() -> None:
    """The emulator's folder is the first of LD_LIBRARY_PATH."""
    folder = Path(os.environ.get("LD_LIBRARY_PATH", "").partition(":")[0] or "/nonexistent")
    for library in (file for pattern in LINKERS for file in folder.glob(pattern)):
        ctypes.CDLL(str(library))


@functools.cache
def redirect() -> None:
    """What numba-cuda's .pth file does where Python reads such files, which is not in PYTHONPATH's folders."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("_numba_cuda_redirector")


def prepare(name: str) -> None:
    """Before the program imports this module for the first time."""
    if name == "numba":
        redirect()
    if name in {"numba", "cuda"}:
        load_linkers()


def give_lines(decorators: ModuleType) -> None:
    """Lets `cuda.jit` note lines where the program says nothing of them; what the kernel does stays the same.

    Without link-time optimization, Numba's default: NVIDIA's compiler refuses it for halves together with lines.
    """
    jit: Callable[..., Any] = decorators.jit

    @functools.wraps(jit)
    def with_lines(*args: object, **options: Any) -> Any:  # noqa: ANN401
        debug = options.get("debug")
        in_debug = decorators.config.CUDA_DEBUGINFO_DEFAULT if debug is None else debug  # which notes them, too
        if not in_debug and not options.get("lto"):
            options.setdefault("lineinfo", True)
            options["lto"] = False
        return jit(*args, **options)

    decorators.jit = with_lines  # type: ignore[attr-defined]


def tell_before_launches(tell: Callable[[], None], dispatcher: ModuleType) -> None:
    """Lets `tell` be called before each launch, in the thread and below the line that launches."""
    launch: Callable[..., Any] = dispatcher._Kernel.launch

    @functools.wraps(launch)
    def told(*args: object, **options: object) -> Any:  # noqa: ANN401
        tell()
        return launch(*args, **options)

    dispatcher._Kernel.launch = told
