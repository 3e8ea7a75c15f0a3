"""The class's tables of shaded cells: speed-ups by student and case, and how many stand between the ladder's steps."""

from __future__ import annotations

from collections.abc import Sequence

from warpgrade_reports import format as fmt
from warpgrade_reports import heat
from warpgrade_reports.analysis import mean_speedup, speedup
from warpgrade_reports.heat import Cell, Heat
from warpgrade_reports.model import CaseResult, CaseSpec, Run
from warpgrade_reports.verdicts import style_of

MOST_ROWS = 400  # students in a page; a larger class is told by its other pictures


def speed_heat(run: Run) -> tuple[Heat, heat.Shades]:
    """A row a student, fastest first by geometric mean; a column a case for speed, after the mean."""
    means = {s.id: mean_speedup(s, run.speed_cases).value for s in run.students}
    ordered = sorted(run.students, key=lambda s: (-(means[s.id] or 0), s.title.casefold(), s.id))
    ratios = [ratio.median for s in ordered for spec in run.speed_cases if (ratio := speedup(s.by_case[spec.id]))]
    shades = heat.shades_of(ratios)
    rows = []
    for submission in ordered:
        mean = means[submission.id]
        first = Cell("–") if mean is None else Cell(fmt.brief(mean), shades.of(mean))
        cells = (_speed_cell(submission.by_case[spec.id], shades) for spec in run.speed_cases)
        rows.append((submission.title, (first, *cells)))
    heads = (("mean", ""), *heads_of(run, run.speed_cases))
    return Heat("student, fastest first", heads, tuple(rows)), shades


def heads_of(run: Run, specs: Sequence[CaseSpec]) -> list[tuple[str, str]]:
    """A case's head: its dataset over its width, or its name alone where that does not tell cases apart."""
    found = [(spec.dataset, f"{spec.k}" if run.width else "") for spec in specs]
    return found if len(set(found)) == len(found) else [(spec.id, "") for spec in specs]


def _speed_cell(result: CaseResult, shades: heat.Shades) -> Cell:
    ratio = speedup(result)
    if ratio is None or ratio.median <= 0:
        return Cell("–" if result.accepted else style_of(result.verdict).letter)
    reached = result.score.threshold_status in {"pass", "within_noise"}
    return Cell(fmt.brief(ratio.median), shades.of(ratio.median), strong=reached)


def letters_of(run: Run) -> list[str]:
    """What the letters of grey cells mean."""
    verdicts = {r.verdict for s in run.students for spec in run.speed_cases if not (r := s.by_case[spec.id]).accepted}
    return [f"{style.letter} {style.label}" for style in sorted(map(style_of, verdicts), key=lambda s: s.letter)]
