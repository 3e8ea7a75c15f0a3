"""The ladder's journey: what each step of the optimization gained, a dataset at a time.

Steps are the submissions whose id starts with `step` and is not a longer word (`step-02_staged_a`), in the order of
their ids; naive comes before them and optimized after them where the run has them.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.counters import METRICS, measure
from warpgrade_reports.model import CaseResult, CaseSpec, Run, Submission
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError

_PREFIX = "step"


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
class Journey:
    """The steps and every case's path along them."""

    steps: tuple[Submission, ...]
    paths: tuple[Path, ...]
    counted: bool  # instructions of the emulator instead of times

    @property
    def ks(self) -> list[int]:
        """The widths K of the paths, ascending."""
        return sorted({path.spec.k for path in self.paths})

    @property
    def charted_ks(self) -> list[int]:
        """The widths that deserve a chart: a single case says it all in the table."""
        several = [k for k in self.ks if sum(path.spec.k == k for path in self.paths) > 1]
        return several or self.ks

    def mean_gains(self, k: int) -> list[tuple[float | None, int]]:
        """The geometric mean of the cumulative gains of width k and its number of cases, a step at a time.

        Only cases that every step has count: a mean over different cases would compare different things.
        """
        whole = self.complete(k)
        return [(geometric_mean(p.gains[i] or 0 for p in whole), len(whole)) for i in range(len(self.steps))]

    def complete(self, k: int) -> list[Path]:
        """The paths of width k without a gap."""
        return [path for path in self.paths if path.spec.k == k and None not in path.values]


def _is_step(submission: Submission) -> bool:
    rest = submission.id.removeprefix(_PREFIX)
    return rest != submission.id and not rest[:1].isalpha()  # a student may be called stephanie


def ladder(run: Run) -> list[Submission]:
    """The steps in their order, with the two ends; empty when the run has no step."""
    steps = sorted(filter(_is_step, run.submissions), key=lambda s: s.id)
    if not steps:
        return []
    ends = {s.id: s for s in run.staff}
    return [*filter(None, [ends.get("naive")]), *steps, *filter(None, [ends.get("optimized")])]


def journey_of(run: Run) -> Journey | None:
    """The run's journey, or None when it has no steps or nothing was measured along them."""
    steps = ladder(run)
    value = _instructions if run.on_emulator else _time_us
    paths = [Path(spec, tuple(value(step.by_case[spec.id]) for step in steps)) for spec in _cases(run)]
    own = [i for i, step in enumerate(steps) if _is_step(step)]  # a case that no step solves tells nothing of them
    paths = [path for path in paths if any(path.values[i] is not None for i in own)]
    return Journey(tuple(steps), tuple(paths), run.on_emulator) if steps and paths else None


def _cases(run: Run) -> Sequence[CaseSpec]:
    return run.cases if run.on_emulator else run.speed_cases


def _time_us(result: CaseResult) -> float | None:
    return result.timing.time_us.median if result.timing and result.accepted else None


def _instructions(result: CaseResult) -> float | None:
    return measure(METRICS[0], result) if result.accepted else None


def markdown(journey: Journey) -> str:
    """The journey as Markdown: the mean gains of the steps, then every case's value and gain."""
    show = fmt.scaled if journey.counted else fmt.microseconds
    what = "warp instructions" if journey.counted else "time"
    gains = {k: journey.mean_gains(k) for k in journey.ks}
    lines = [
        "| step | "
        + " | ".join(f"K={k} over the first step ({fmt.plural(gains[k][0][1], 'case')})" for k in gains)
        + " |",
        "|---|" + "---:|" * len(gains),
    ]
    for index, step in enumerate(journey.steps):
        lines.append(
            f"| {fmt.markdown(step.title)} | " + " | ".join(fmt.ratio(gains[k][index][0]) for k in gains) + " |"
        )
    lines += [
        "",
        f"| case: {what}, gain | " + " | ".join(fmt.markdown(step.title) for step in journey.steps) + " |",
        "|---|" + "---:|" * len(journey.steps),
    ]
    for path in journey.paths:
        cells = (f"{show(value)}, {fmt.ratio(gain)}" for value, gain in zip(path.values, path.gains, strict=True))
        lines.append(f"| {fmt.markdown(path.spec.id)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """`python -m warpgrade_reports.journey RUN_DIR`: prints the journey as Markdown."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.journey", description="Prints what each step gained.")
    parser.add_argument("run", type=pathlib.Path, metavar="RUN_DIR", help="a run with the ladder's steps")
    options = parser.parse_args(arguments)
    try:
        journey = journey_of(read_run(options.run))
        if journey is None:
            raise ReportInputError(
                str(options.run),
                f'expected submissions called "{_PREFIX}..." with measurements, got none',
                "grade with the staff's solutions (--with-reference)",
            )
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(markdown(journey), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
