"""The ladder's journey: what each step of the optimization gained, a dataset at a time.

Steps are the submissions whose id starts with `step` and is not a longer word (`step-02_staged_a`), in the order of
their ids; naive comes before them and optimized after them where the run has them.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.counters import METRICS, measure
from warpgrade_reports.grouping import Group, groups_of
from warpgrade_reports.model import CaseResult, CaseSpec, Run, Submission
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError, finite

MOST_KERNELS = 4  # that a step's line names
_LAST = ("optimized", "optimized_3xtf32")  # the second: by tensor cores, with fp32's accuracy (matmul)
_PREFIX = "step"
_KERNEL_LETTERS = 38


@dataclass(frozen=True)
class Path:
    """One case along the steps: time (or warp instructions on the emulator), and the gain over the first step."""

    spec: CaseSpec
    values: tuple[float | None, ...]

    @property
    def first(self) -> int | None:
        """The index of the first step that has a value."""
        return next((i for i, value in enumerate(self.values) if value is not None), None)

    @property
    def gains(self) -> tuple[float | None, ...]:
        """The cumulative speed-up of each step over the first one measured."""
        if self.first is None:
            return tuple(None for _ in self.values)
        start = self.values[self.first]
        return tuple(start / value if start is not None and value else None for value in self.values)


@dataclass(frozen=True)
class Stretch:
    """Cases that a chart shows together, and their paths."""

    group: Group
    paths: tuple[Path, ...]

    @property
    def _judged(self) -> list[int]:
        """The steps that solve any of the cases: one that was not reached takes nothing from the others."""
        return [i for i in range(len(self.paths[0].values)) if any(path.values[i] is not None for path in self.paths)]

    @property
    def complete(self) -> list[Path]:
        """The paths without a gap."""
        return [path for path in self.paths if all(path.values[i] is not None for i in self._judged)]

    @property
    def mean_gains(self) -> list[float | None]:
        """The geometric mean of the cumulative gains, a step at a time.

        Only cases that every step has count: a mean over different cases would compare different things.
        """
        steps = len(self.paths[0].values)
        return [geometric_mean(path.gains[i] or 0 for path in self.complete) for i in range(steps)]


@dataclass(frozen=True)
class KernelUse:
    """One kernel of a step: what ptxas and, on the emulator, its largest launch say."""

    name: str
    registers: int | None
    shared_bytes: int | None  # a block, with the dynamic part where a launch was seen
    block: str = ""  # "32 × 32"
    grid: str = ""


@dataclass(frozen=True)
class Climb:
    """The steps and every case's path along them."""

    steps: tuple[Submission, ...]
    stretches: tuple[Stretch, ...]
    counted: bool  # instructions of the emulator instead of times
    launches: Run | None = None  # a run on the emulator that knows how the same programs launch their kernels

    @property
    def launched(self) -> list[str]:
        """The cases whose launches are told; none where nothing is known of launches."""
        counted = (_largest_case(_on_emulator(step, self.launches)) for step in self.steps)
        return list(dict.fromkeys(case.spec.id for case in counted if case))

    def kernels(self, step: Submission) -> list[KernelUse]:
        """The kernels of a step that did most; as they were launched in its largest case where that is known."""
        found = kernels_of(step, self.launches)
        if not self.launched:
            return found
        # Beside others' dynamic shared memory the static part alone would be read as all of it.
        return [kernel if kernel.block else replace(kernel, shared_bytes=None) for kernel in found]

    @property
    def paths(self) -> list[Path]:
        """Every case's path."""
        return [path for stretch in self.stretches for path in stretch.paths]

    @property
    def charted(self) -> list[Stretch]:
        """The stretches that deserve a chart: a single case says it all in the table."""
        several = [stretch for stretch in self.stretches if len(stretch.paths) > 1]
        return several or list(self.stretches)


def is_step(submission: Submission) -> bool:
    """Whether the submission is a step of the lab's ladder."""
    rest = submission.id.removeprefix(_PREFIX)
    return rest != submission.id and not rest[:1].isalpha()  # a student may be called stephanie


def ladder(run: Run) -> list[Submission]:
    """The steps in their order, with the two ends; empty when the run has no step."""
    steps = sorted(filter(is_step, run.submissions), key=lambda s: s.id)
    if not steps:
        return []
    ends = {s.id: s for s in run.staff}
    return [*filter(None, [ends.get("naive")]), *steps, *filter(None, map(ends.get, _LAST))]


def climbers(run: Run) -> list[Submission]:
    """The ladder with its ends, or the ends alone of a run without steps."""
    return ladder(run) or [s for name in ("naive", *_LAST) for s in run.staff if s.id == name]


def climb_of(run: Run, launches: Run | None = None) -> Climb | None:
    """The run's journey, or None when it has no steps or nothing was measured along them.

    A GPU's records say nothing of launches, and its first ones nothing of ideas: `launches`, a run on the emulator,
    does for the same programs.
    """
    if launches and (launches.lab != run.lab or not launches.on_emulator):
        raise ReportInputError(
            launches.id,
            f"expected a run of lab {run.lab} on the emulator, got lab {launches.lab} on {launches.backend}",
            f"grade the ladder with --lab {run.lab} --backend emulator",
        )
    steps = [replace(step, idea=step.idea or _on_emulator(step, launches).idea) for step in ladder(run)]
    return climb_along(run, steps, [step for step in steps if is_step(step)], launches)


def climb_along(
    run: Run, steps: Sequence[Submission], own: Sequence[Submission], launches: Run | None = None
) -> Climb | None:
    """The journey over these steps; of cases that none of its `own` steps solves it does not tell."""
    value = _instructions if run.on_emulator else _time_us
    found = {spec.id: Path(spec, tuple(value(step.by_case.get(spec.id)) for step in steps)) for spec in _cases(run)}
    places = [i for i, step in enumerate(steps) if step in own]
    found = {name: path for name, path in found.items() if any(path.values[i] is not None for i in places)}
    groups = groups_of(run, [path.spec for path in found.values()])
    stretches = tuple(Stretch(group, tuple(found[spec.id] for spec in group.specs)) for group in groups)
    return Climb(tuple(steps), stretches, run.on_emulator, launches) if steps and stretches else None


def kernels_of(step: Submission, launches: Run | None = None) -> list[KernelUse]:
    """The kernels of a step that did most; as they were launched in its largest case where the emulator ran it."""
    known = {short_kernel(k.name): k for k in step.compilation.kernels} if step.compilation else {}
    launched = _largest_launches(_on_emulator(step, launches))
    if launched:
        return [
            KernelUse(
                name,
                known[name].registers if name in known else None,
                int(shared) if (shared := finite(kernel.get("shared_bytes"))) is not None else None,
                _extent(kernel.get("block")),
                _extent(kernel.get("grid")),
            )
            for name, kernel in launched.items()
        ]
    return [KernelUse(name, kernel.registers, kernel.shared_bytes) for name, kernel in known.items()]


def _on_emulator(step: Submission, launches: Run | None) -> Submission:
    """The step as the other run has it, when it is the same program there."""
    others = launches.submissions if launches else ()
    return next((other for other in others if (other.id, other.hash) == (step.id, step.hash)), step)


def _largest_launches(step: Submission) -> dict[str, dict[str, Any]]:
    """The kernels of the case in which the step executed most, by short name, the busiest first."""
    case = _largest_case(step)
    if case is None:
        return {}
    kernels = [k for k in (case.counters or {})["kernels"] if isinstance(k, dict)]
    kernels.sort(key=lambda k: finite(k.get("warp_instructions")) or 0, reverse=True)
    return {short_kernel(str(kernel.get("kernel", ""))): kernel for kernel in kernels}


def _largest_case(step: Submission) -> CaseResult | None:
    counted = [case for case in step.cases if case.accepted and case.counters and case.counters.get("kernels")]
    return max(counted, key=lambda c: measure(METRICS[0], c) or 0, default=None)


def short_kernel(name: str) -> str:
    """A kernel's name without its namespace, result and arguments: two spellings of one kernel meet here."""
    bare = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    return re.sub(r"^(?:\w+::)*", "", bare[: _arguments_at(bare)])


def _arguments_at(name: str) -> int:
    """Where the list of arguments begins: template arguments may hold brackets of their own."""
    depth = 0
    for place, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return place
    return len(name)


def _extent(value: object) -> str:
    """[32, 32, 1] as 32 × 32."""
    if not isinstance(value, list):
        return ""
    sizes = [int(size) for size in map(finite, value) if size is not None]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return " × ".join(f"{size:,}" for size in sizes)


def _cases(run: Run) -> Sequence[CaseSpec]:
    cases = run.cases if run.on_emulator else run.speed_cases
    return [spec for spec in cases if not run.ladder or spec.dataset == run.ladder]


def _time_us(result: CaseResult | None) -> float | None:
    return result.timing.time_us.median if result and result.timing and result.accepted else None


def _instructions(result: CaseResult | None) -> float | None:
    return measure(METRICS[0], result) if result and result.accepted else None


def before_and_first(path: Path, index: int) -> tuple[float | None, float | None]:
    """The gain of a step over the step before it, and over the first one."""
    value, before = path.values[index], path.values[index - 1] if index else None
    return (before / value if value and before else None), path.gains[index]


def markdown(climb: Climb) -> str:
    """The journey as Markdown: the steps with their kernels and mean gains, then every case's values and gains."""
    show = fmt.scaled if climb.counted else fmt.microseconds
    what = "warp instructions" if climb.counted else "time"
    first = fmt.markdown(climb.steps[0].title)
    heads = [
        f"{stretch.group.title} over {first} ({fmt.plural(len(stretch.complete), 'case')})".strip()
        for stretch in climb.stretches
    ]
    launched = climb.launched
    lines = [_where_launched(climb), ""] if launched else []
    shapes = ["block", "grid", "shared memory"] if launched else ["static shared memory"]
    lines.append("| " + " | ".join(["step", "idea", "kernels", *shapes, "registers", *map(fmt.markdown, heads)]) + " |")
    lines.append("|---|---|---|" + "---:|" * (len(shapes) + 1 + len(heads)))
    gains = [stretch.mean_gains for stretch in climb.stretches]
    for index, step in enumerate(climb.steps):
        cells = [
            fmt.markdown(step.title),
            fmt.markdown(step.idea) or fmt.UNKNOWN,
            *_kernel_cells(climb.kernels(step), launched=bool(launched)),
            *(fmt.ratio(gain[index]) for gain in gains),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"| case: {what}, over the step before, over {first} | "
        + " | ".join(fmt.markdown(step.title) for step in climb.steps)
        + " |",
        "|---|" + "---:|" * len(climb.steps),
    ]
    for path in climb.paths:
        cells = []
        for index, value in enumerate(path.values):
            before, start = before_and_first(path, index)
            cells.append(f"{show(value)}, {fmt.ratio(before)}, {fmt.ratio(start)}")
        lines.append(f"| {fmt.markdown(path.spec.id)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _where_launched(climb: Climb) -> str:
    known = f"Kernels as the emulator launches them in {', '.join(climb.launched)}"
    another = any(not kernel.block for step in climb.steps for kernel in climb.kernels(step))
    return known + ("; a dash where the program that was timed is another one." if another else ".")


def _kernel_cells(kernels: Sequence[KernelUse], *, launched: bool) -> list[str]:
    """Names, blocks, grids, shared memory and registers, a line a kernel; of many kernels the first."""
    shown = kernels[:MOST_KERNELS]
    names = [f"`{fitting(kernel.name)}`" for kernel in shown]
    if len(kernels) > len(shown):
        names.append(f"and {len(kernels) - len(shown)} more")
    columns = [names]
    if launched:
        columns += [[kernel.block or fmt.UNKNOWN for kernel in shown], [kernel.grid or fmt.UNKNOWN for kernel in shown]]
    columns += [[fmt.kilobytes(kernel.shared_bytes) for kernel in shown], [fmt.count(k.registers) for k in shown]]
    return ["<br>".join(column) or fmt.UNKNOWN for column in columns]


def fitting(name: str) -> str:
    """A kernel's name on one line: long template arguments are left out."""
    return name if len(name) <= _KERNEL_LETTERS else name.split("<", 1)[0] + "<…>"


def add_launches(parser: argparse.ArgumentParser) -> None:
    """The option that names a run of the same ladder on the emulator."""
    parser.add_argument(
        "--launches",
        type=pathlib.Path,
        metavar="RUN_DIR",
        help="the same ladder on the emulator, which knows blocks, grids and dynamic shared memory",
    )


def main(arguments: list[str] | None = None) -> int:
    """`python -m warpgrade_reports.ladder RUN_DIR`: prints the journey as Markdown."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.ladder", description="Prints what each step gained.")
    parser.add_argument("run", type=pathlib.Path, metavar="RUN_DIR", help="a run with the ladder's steps")
    add_launches(parser)
    options = parser.parse_args(arguments)
    try:
        climb = climb_of(read_run(options.run), options.launches and read_run(options.launches))
        if climb is None:
            raise ReportInputError(
                str(options.run),
                f'expected submissions called "{_PREFIX}..." with measurements, got none',
                "grade with the staff's solutions (--with-reference)",
            )
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(markdown(climb), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
