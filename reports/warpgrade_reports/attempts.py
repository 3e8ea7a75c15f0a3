"""A student's attempts in a run: how times changed from one to the next, and what else did.

The staff's page follows them as it follows the ladder (ladder.py). A student's page has them as a table of gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports import heat
from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.heat import Cell, Heat
from warpgrade_reports.ladder import Climb, climb_along, short_kernel
from warpgrade_reports.model import Run, Submission


def attempts_of(submission: Submission, run: Run) -> list[Submission]:
    """All attempts of the submission's student or team in their order; none where there is a single one."""
    if not submission.is_student or not submission.student:
        return []
    found = run.attempts.get(submission.student, ())
    return sorted(found, key=lambda s: (s.attempt or 0, s.submitted_at)) if len(found) > 1 else []


def attempts_climb(submission: Submission, run: Run) -> Climb | None:
    """The attempts as a journey; None of a single one, or where nothing was measured."""
    attempts = attempts_of(submission, run)
    steps = []
    for before, attempt in zip([None, *attempts], attempts, strict=False):
        number = f"attempt {attempt.attempt}" if attempt.attempt else attempt.id
        day = attempt.submitted_at[:10]
        title = f"{number}, {day}" if day else number
        steps.append(replace(attempt, title=title, idea="; ".join(_changes(before, attempt)), compilation=None))
    return climb_along(run, steps, steps) if steps else None


def _changes(before: Submission | None, after: Submission) -> Iterator[str]:
    """What differs from the attempt before, as far as records know."""
    yield f"{after.correct_cases} of {after.total_cases} cases correct, {fmt.points(after.points)} points"
    if before is None:
        return
    if before.hash and before.hash == after.hash:
        yield "the same source"
    lost = [c.spec.id for c in after.cases if not c.accepted and before.by_case[c.spec.id].accepted]
    if lost:
        yield f"no longer correct: {', '.join(lost[:3])}{' and more' if lost[3:] else ''}"
    old, new = before.compilation, after.compilation
    if old is None or new is None:
        return
    if old.flags != new.flags:
        yield f"flags: {new.flags or 'none'}"
    was, now = ({short_kernel(k.name): k for k in each.kernels} for each in (old, new))
    for word, names in (("new kernels", now.keys() - was.keys()), ("kernels gone", was.keys() - now.keys())):
        if names:
            yield f"{word}: {', '.join(sorted(names)[:3])}{' and more' if len(names) > 3 else ''}"  # noqa: PLR2004
    for name in sorted(was.keys() & now.keys()):
        if was[name].registers != now[name].registers:
            yield f"{name}: {was[name].registers} registers, now {now[name].registers}"


def own_heat(view: dict[str, Any]) -> tuple[Heat, heat.Shades] | None:
    """A row an attempt: how many times as fast as the first that was measured, a case; None of a single attempt."""
    attempts = [attempt for attempt in view.get("attempts") or [] if isinstance(attempt, dict)]
    times = [attempt.get("times_us") or {} for attempt in attempts]
    cases = [case["id"] for case in view.get("cases", []) if any(_time(each, case["id"]) for each in times)]
    if len(attempts) < 2 or not cases:  # noqa: PLR2004
        return None
    first = {case: next(us for each in times if (us := _time(each, case))) for case in cases}
    gains = [{case: first[case] / us for case in cases if (us := _time(each, case))} for each in times]
    shades = heat.shades_of(gain for each in gains for gain in each.values())
    rows = []
    for attempt, each in zip(attempts, gains, strict=True):
        mean = geometric_mean(each.values())
        cells = [_gain(each.get(case), shades) for case in cases]
        rows.append((_label(attempt, view.get("submission", {}).get("attempt")), (_gain(mean, shades), *cells)))
    return Heat("attempt", (("mean", ""), *((case, "") for case in cases)), tuple(rows)), shades


def _time(times: dict[str, Any], case: str) -> float | None:
    us = times.get(case)
    return float(us) if isinstance(us, int | float) and us > 0 else None


def _gain(gain: float | None, shades: heat.Shades) -> Cell:
    return Cell("–") if gain is None else Cell(fmt.brief(gain), shades.of(gain))


def _label(attempt: dict[str, Any], counting: object) -> str:
    correct, cases = attempt.get("correct_cases"), attempt.get("total_cases")
    words = [f"{attempt.get('attempt', '')}".strip(), str(attempt.get("submitted_at", ""))[5:16].replace("T", " ")]
    words.append(f"{correct}/{cases} correct" if cases else "")
    words.append("counts" if counting is not None and attempt.get("attempt") == counting else "")
    return ", ".join(filter(None, words))
