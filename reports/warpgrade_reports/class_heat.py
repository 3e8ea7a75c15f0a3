"""The class's tables of shaded cells: speed-ups by student and case, and how many stand between the ladder's steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warpgrade_reports import format as fmt
from warpgrade_reports import heat
from warpgrade_reports.analysis import mean_speedup, speedup
from warpgrade_reports.heat import Cell, Heat
from warpgrade_reports.ladder import climbers
from warpgrade_reports.model import CaseResult, CaseSpec, Run
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.verdicts import style_of

_WIDE = 1000  # from here on a width does not fit across a cell
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
    """A case's head: its dataset over its width, in one line where it is long, or what tells cases apart."""
    several = bool(run.width) and len({spec.width for spec in specs}) > 1
    if not several:
        found = [(spec.dataset, "") for spec in specs]
    elif max(spec.width for spec in specs) < _WIDE:
        found = [(spec.dataset, f"{spec.width}") for spec in specs]
    else:
        found = [(f"{spec.dataset} {spec.width:,}", "") for spec in specs]
    return found if len(set(found)) == len(found) else [(spec.id, "") for spec in specs]


def _speed_cell(result: CaseResult, shades: heat.Shades) -> Cell:
    ratio = speedup(result)
    if ratio is None or ratio.median <= 0:
        return Cell("–" if result.accepted else style_of(result.verdict).letter)
    reached = result.score.threshold_status in {"pass", "within_noise"}
    return Cell(fmt.brief(ratio.median), shades.of(ratio.median), strong=reached)


def grey_of(run: Run) -> str:
    """What a grey cell means, with the letters of this class."""
    verdicts = {r.verdict for s in run.students for spec in run.speed_cases if not (r := s.by_case[spec.id]).accepted}
    letters = [f"{style.letter} {style.label}" for style in sorted(map(style_of, verdicts), key=lambda s: s.letter)]
    return f"not measured: {', '.join(letters)}" if letters else "not measured"


def ladder_heat(run: Run, kept: Run | None) -> Heat | None:
    """How many students lie between each step of the ladder and the next faster one, a row a case.

    The ladder is the run's own, or that of `kept`, a run of the same lab on the same model of GPU. Both are compared by
    their speed-up over the graded baseline. None where a ladder was not measured.
    """
    if kept:
        _refuse_another(run, kept)
    steps = climbers(kept or run)
    if not steps or not run.speed_measured:
        return None
    rows = []
    for spec in run.speed_cases:
        baseline = next((s.by_case[spec.id].score.baseline for s in run.students), "")
        found = [_over(step.by_case.get(spec.id), baseline) for step in steps]
        if any(found):
            students = [ratio.median for s in run.students if (ratio := speedup(s.by_case[spec.id]))]
            rows.append((spec.id, tuple(_places(found, students, len(run.students)))))
    heads = (("slower than all", ""), *((f"from {step.title}", "") for step in steps), ("not measured", ""))
    return Heat("case", heads, tuple(rows)) if rows else None


def _refuse_another(run: Run, kept: Run) -> None:
    ours, theirs = ((each.lab, str(each.device.get("name", "an unknown device"))) for each in (run, kept))
    if ours != theirs:
        raise ReportInputError(
            kept.id,
            f"expected a ladder of lab {ours[0]} on {ours[1]}, got lab {theirs[0]} on {theirs[1]}",
            "name a run of the staff's solutions (--with-reference) on the class's model of GPU",
        )


def _over(result: CaseResult | None, baseline: str) -> float | None:
    """A step's speed-up over the baseline that the class is graded by."""
    if result is None or not result.accepted:
        return None
    if baseline in result.ratios:
        return result.ratios[baseline].median
    return 1.0 if result.timing and baseline == "naive" else None


def _places(steps: Sequence[float | None], students: Sequence[float], everyone: int) -> Iterator[Cell]:
    """Each student counts at the fastest step that it reaches; a step that is no faster than one before has a dot."""
    best, rising = 0.0, []
    for step in steps:
        rising.append(step if step is not None and step > best else None)
        best = max(best, step or 0.0)
    bounds = [step for step in rising if step is not None]
    counts = [0] * (len(bounds) + 1)
    for ratio in students:
        counts[sum(ratio >= bound for bound in bounds)] += 1
    yield _count_cell(counts[0], everyone)
    place = 0
    for step in rising:
        if step is None:
            yield Cell("·")
            continue
        place += 1
        yield _count_cell(counts[place], everyone)
    yield Cell(str(everyone - len(students)))


def _count_cell(count: int, everyone: int) -> Cell:
    return Cell(str(count), heat.share_shade(count / everyone))
