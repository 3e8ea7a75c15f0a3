"""What a GPU counted of a program: the summaries that `warpgrade profile --hardware` and the desk leave.

Schema warpgrade.hardware.v1: by kernel, figures of one launch on average, the GPU's beside the emulator's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpgrade_reports import format as fmt
from warpgrade_reports.source import Node, finite, read_node
from warpgrade_reports.text import plain_line

TIME, MEMORY = "time (us)", "DRAM (MB)"
_WORK = (TIME, "warp instr.")  # what tells which kernel is the heaviest
_STEP = "make it with `warpgrade profile --hardware`"


@dataclass(frozen=True)
class GpuKernel:
    """One kernel; what the GPU did not count is not in `figures`."""

    name: str
    launches: float
    figures: Mapping[str, float]

    @property
    def dram_bytes_per_s(self) -> float | None:
        """What it moved to and from device memory; None where bytes or time were not counted."""
        us, megabytes = self.figures.get(TIME), self.figures.get(MEMORY)
        return 1e12 * megabytes / us if us and megabytes is not None else None


@dataclass(frozen=True)
class GpuCounters:
    """One case of a program."""

    case: str
    device: str
    kernels: Sequence[GpuKernel]

    @property
    def heaviest(self) -> GpuKernel | None:
        """The kernel that takes most of the time, or most instructions where no time was counted."""
        by = next((name for name in _WORK if any(name in kernel.figures for kernel in self.kernels)), None)
        if by is None:
            return None
        return max(self.kernels, key=lambda kernel: kernel.launches * kernel.figures.get(by, 0.0))


def read_gpu_counters(files: Sequence[Path]) -> tuple[GpuCounters, ...]:
    """Of each case and device the last file's."""
    found: dict[tuple[str, str], GpuCounters] = {}
    for file in files:
        root = read_node(file, _STEP)
        root.require_schema("warpgrade.hardware.v1")
        case, device = plain_line(root.text("case")), plain_line(root.text("device"))
        kernels = [_kernel(node) for node in root.children("kernels") if finite(node.value.get("launches"))]
        if kernels:
            found[case, device] = GpuCounters(case, device, kernels)
    return tuple(found.values())


def _kernel(node: Node) -> GpuKernel:
    figures = {}
    for figure in node.children("figures"):
        value = figure.number("hardware")
        if value is not None:
            figures[figure.text("name")] = value
    return GpuKernel(plain_line(node.text("kernel")), node.required_number("launches"), figures)


def figure_text(name: str, value: float) -> str:
    """A figure as it is read: shares and ratios with three digits, counts whole."""
    return fmt.count(value) if name.endswith(("requests", "instr.", "sectors")) else fmt.digits(value)
