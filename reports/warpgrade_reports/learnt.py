"""What a run without a GPU teaches first: mistakes by kind, what makes kernels slow, and speed-ups as estimated."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpgrade_reports import charts
from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Chart, Style
from warpgrade_reports.class_stats import Mistake, mistakes
from warpgrade_reports.grouping import groups_of
from warpgrade_reports.model import Run
from warpgrade_reports.profile import findings_of


@dataclass
class Slowness:
    """A kind of problem in kernels, over the class."""

    title: str
    advice: str
    submissions: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Learnt:
    """The three lists; the estimates are charts."""

    mistakes: list[Mistake]
    slowness: list[Slowness]
    estimates: list[Chart]

    def __bool__(self) -> bool:
        return bool(self.mistakes or self.slowness or self.estimates)


def learnt_of(run: Run) -> Learnt | None:
    """What there is to learn; None of a run that measured times, or where there is nothing."""
    if run.speed_measured:
        return None
    found = Learnt(mistakes(run), slowness_of(run), estimate_charts(run))
    return found or None


def slowness_of(run: Run) -> list[Slowness]:
    """The problems that the judge found in students' kernels, those of most students first."""
    found: dict[str, Slowness] = {}
    for submission in run.students:
        for problem in findings_of(submission):
            kind = found.setdefault(problem.title, Slowness(problem.title, problem.advice))
            kind.submissions.add(submission.id)
    return sorted(found.values(), key=lambda kind: (-len(kind.submissions), kind.title))


def estimate_charts(run: Run) -> list[Chart]:
    """Estimated speed-ups over naive with the estimates' intervals, a chart for each group of cases."""
    specs = [spec for spec in run.cases if any(s.by_case[spec.id].estimated for s in run.submissions)]
    return [
        charts.case_chart(
            run,
            group,
            lambda result: result.estimated if result.accepted else None,
            Chart(
                f"estimate-{group.slug}",
                group.named("Estimated speed-up over naive"),
                "speed-up over naive, as estimated",
                (),
                (),
                Style.DOTS,
                logarithmic=True,
                reference=1.0,
                tick=fmt.ratio,
                caption="Estimates from the emulator's counts, with their intervals; no GPU took these times.",
            ),
        )
        for group in groups_of(run, specs)
    ]
