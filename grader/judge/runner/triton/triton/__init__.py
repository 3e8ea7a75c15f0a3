"""In the place of Triton, where a submission runs: kernels were compiled before, and are only launched.

The decorators are here, and the few functions that host code calls. A kernel's body is never run, so the names in
`triton.language` stand for nothing but themselves.
"""

from __future__ import annotations

from . import language
from ._decorators import Autotuner, Config, Heuristics, JITFunction, autotune, cdiv, heuristics, jit, next_power_of_2
from ._names import answer_for_any_module, unknown_name

__version__ = "3.9.0"
__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "JITFunction",
    "autotune",
    "cdiv",
    "heuristics",
    "jit",
    "language",
    "next_power_of_2",
]

answer_for_any_module()


def __getattr__(name: str) -> object:
    return unknown_name("triton", name)
