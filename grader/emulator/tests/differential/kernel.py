"""One kernel of the differential suite, and the helper that makes it from an instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass

CONSTRAINT = {"u16": "h", "f16": "h", "bf16": "h", "u32": "r", "f32": "r", "turn": "r", "u64": "l", "f64": "l"}


@dataclass(frozen=True)
class Kernel:
    """The body computes d (kind `output`) from a, b, c (kinds `inputs`), t and scratch (1024 zeroed words)."""

    name: str
    inputs: tuple[str, ...]
    output: str
    body: str
    compare: str = "bits"


def asm(instruction: str, inputs: str, output: str, operands: str = "", compare: str = "bits") -> Kernel:
    """A kernel of one instruction; `operands` stand after its inputs (immediates), `inputs` is e.g. "u32 u32"."""
    kinds = tuple(inputs.split())
    places = ", ".join(f"%{i + 1}" for i in range(len(kinds))) + (", " + operands if operands else "")
    arguments = ", ".join(f'"{CONSTRAINT[kind]}"({v})' for kind, v in zip(kinds, "abc", strict=False))
    name = re.sub(r"\W+", "_", f"{instruction} {operands}").strip("_")
    text = f'asm volatile("{instruction} %0, {places};" : "={CONSTRAINT[output]}"(d) : {arguments});'
    return Kernel(name, kinds, output, text, compare)
