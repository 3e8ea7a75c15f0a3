"""What courses report beside what our records hold, for a run's report.

Our figures come from the run's records alone, theirs from course_figures.toml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports.ladder import is_step, ladder
from warpgrade_reports.model import CaseResult, CaseSpec, Run, Submission

FIGURES = Path(__file__).with_name("course_figures.toml")
HEADS = ("measure", "courses report", "their GPU", "our ladder: its best step, or its times", "our optimized solution")


@dataclass(frozen=True)
class Line:
    """One figure of a course and ours for it, as text."""

    lab: str
    what: str
    theirs: str
    gpu: str
    steps: str
    optimized: str

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of HEADS."""
        return self.what, self.theirs, self.gpu, self.steps, self.optimized


Homes = Mapping[tuple[str, str], Run]  # by submission and case: of which run its result is, if of another one


def lines_of(run: Run, homes: Homes = MappingProxyType({})) -> list[Line]:
    """The course figures of the run's lab that its records can be set beside; none without times."""
    if run.on_emulator or not run.speed_measured:
        return []
    import tomllib  # noqa: PLC0415 -- Python 3.10 lacks it, and a class's report does without

    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["figure"]
    found = (_line(run, homes, figure) for figure in figures if figure["lab"] == run.lab)
    return [line for line in found if line is not None]


def _line(run: Run, homes: Homes, figure: dict[str, Any]) -> Line | None:
    steps = [step for step in ladder(run) if is_step(step)]
    best = next((s for s in run.staff if s.id == "optimized"), None)
    ours = _speedups if figure["kind"] == "speedup" else _times
    of_steps = ours(run, homes, figure, steps)
    of_best = ours(run, homes, figure, [best] if best else [])
    if of_steps is None and of_best is None:
        return None
    theirs = (
        _range(figure["low"], figure["high"])
        if figure["kind"] == "speedup"
        else " → ".join(f"{time:g}" for time in figure["times_ms"]) + " ms"
    )
    if "time_ms" in figure:
        theirs += f" ({figure['time_ms']:g} ms)"
    return Line(
        run.lab,
        figure["what"],
        f"{theirs}, {figure['source']}",
        figure["gpu"],
        of_steps or fmt.UNKNOWN,
        of_best or fmt.UNKNOWN,
    )


def _cases(run: Run, figure: dict[str, Any]) -> list[CaseSpec]:
    if "case" in figure:
        return [spec for spec in run.speed_cases if spec.id == figure["case"]]
    wanted = figure.get("dataset")
    return [
        spec
        for spec in run.speed_cases
        if spec.width == figure["k"] and spec.dataset_kind == "stand-in" and wanted in (None, spec.dataset)
    ]


def _time_us(result: CaseResult | None) -> float | None:
    return result.timing.time_us.median if result and result.timing and result.accepted else None


def _speedup(home: Run, submission: Submission, spec: CaseSpec, baseline: str) -> float | None:
    """Over the baseline's own times where the same run has it as a submission, else the paired ratio."""
    result = submission.by_case.get(spec.id)
    other = next((s for s in home.staff if s.id == baseline), None)
    theirs, ours = _time_us(other.by_case.get(spec.id)) if other else None, _time_us(result)
    if theirs and ours:
        return theirs / ours
    ratio = result.ratios.get(baseline) if result and result.accepted else None
    return ratio.median if ratio else None


def _speedups(run: Run, homes: Homes, figure: dict[str, Any], submissions: Sequence[Submission]) -> str | None:
    """The range over the cases; of several submissions the best on each case."""
    best = []
    fastest_ms = None
    for spec in _cases(run, figure):
        told = ((s.id, _speedup(homes.get((s.id, spec.id), run), s, spec, figure["baseline"])) for s in submissions)
        found = {name: value for name, value in told if value}
        if found:
            best.append(max(found.values()))
            times = [time for s in submissions if (time := _time_us(s.by_case.get(spec.id)))]
            fastest_ms = min(times) / 1e3 if times else None
    if not best:
        return None
    text = _range(min(best), max(best))
    if len(best) > 1:
        text += f" on {len(best)} graphs"
    return f"{text} ({fmt.digits(fastest_ms)} ms)" if "time_ms" in figure and fastest_ms else text


def _times(run: Run, _homes: Homes, figure: dict[str, Any], submissions: Sequence[Submission]) -> str | None:
    """The times along the ladder, naive in front where there are several."""
    specs = _cases(run, figure)
    if not specs or not submissions:
        return None
    naive = [s for s in run.staff if s.id == "naive"] if len(submissions) > 1 else []
    times = [_time_us(s.by_case.get(specs[0].id)) for s in (*naive, *submissions)]
    known = [fmt.digits(time / 1e3) for time in times if time is not None]
    return " → ".join(known) + " ms" if known else None


def _range(low: float, high: float) -> str:
    shown = [fmt.ratio(low).removesuffix("×"), fmt.ratio(high)]
    return shown[1] if shown[0] + "×" == shown[1] else f"{shown[0]} to {shown[1]}"


def html_table(lines: Sequence[Line]) -> str:
    """The table of one lab for its report; empty without lines."""
    if not lines:
        return ""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in HEADS)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line.cells) + "</tr>" for line in lines)
    return f'<table class="plain"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
