"""The charts of a run and of each submission, made from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import mean_throughput, ranking, speedup, time_over_floor
from warpgrade_reports.chart import MAX_SERIES, Chart, Mark, Row, Style
from warpgrade_reports.counters import METRICS, Metric, measure, naive_of, work_over_naive
from warpgrade_reports.grouping import Group, groups_of
from warpgrade_reports.model import CaseResult, CaseSpec, Interval, Run, Submission
from warpgrade_reports.verdicts import style_of

_CROWD = "the class"


@dataclass(frozen=True)
class _Cast:
    """Whom a chart compares: each with a colour of its own, or a class in one colour with the staff standing out."""

    shown: tuple[Submission, ...]
    series: dict[str, int]
    names: tuple[str, ...]
    crowded: bool
    left_out: int

    @property
    def caption(self) -> str:
        """What a reader of a crowded chart must know."""
        if not self.crowded:
            return ""
        parts = ["A dot a submission; the tall line is the class's median."] if 0 in self.series.values() else []
        if self.left_out:
            parts.append(f"References without a mark of their own: {self.left_out}.")
        return " ".join(parts)


def _cast(run: Run) -> _Cast:
    """The best of the class first, then the staff; the first and the last of the staff where they are too many."""
    students = tuple(ranked.submission for ranked in ranking(run.students))
    if len(run.submissions) <= MAX_SERIES:
        everyone = students + run.staff
        return _Cast(everyone, {s.id: i for i, s in enumerate(everyone)}, tuple(s.title for s in everyone), False, 0)
    most = MAX_SERIES - 1  # series 0 is the class
    staff = run.staff if len(run.staff) <= most else (run.staff[0], *run.staff[1 - most :])
    series = dict.fromkeys((s.id for s in students), 0) | {s.id: i for i, s in enumerate(staff, start=1)}
    names = (_CROWD, *(s.title for s in staff))
    return _Cast(students + staff, series, names, True, len(run.staff) - len(staff))


def case_chart(
    run: Run,
    group: Group,
    value: Callable[[CaseResult], Interval | None],
    chart: Chart,
    *,
    thresholds: bool = False,
) -> Chart:
    """`chart` with a row a case and a mark a submission."""
    cast = _cast(run)
    rows = []
    for spec, label in zip(group.specs, group.labels, strict=True):
        found = [(s, value(s.by_case[spec.id])) for s in cast.shown]
        marks = tuple(Mark(cast.series[s.id], v.median, v.low, v.high, name=s.title) for s, v in found if v is not None)
        absent = tuple((cast.series[s.id], why_absent(s.by_case[spec.id])) for s, v in found if v is None)
        threshold = chart_threshold(run, spec) if thresholds else None
        rows.append(Row(label, marks, threshold, "not measured", absent))
    return replace(
        chart,
        rows=tuple(rows),
        series=cast.names,
        style=Style.STRIP if cast.crowded else chart.style,
        caption=" ".join(filter(None, (cast.caption, chart.caption))),
    )


def chart_threshold(run: Run, spec: CaseSpec) -> float | None:
    """The threshold of a case: the policy's, so the same for everyone."""
    found = (s.by_case[spec.id].score.threshold for s in run.submissions)
    return next((threshold for threshold in found if threshold is not None), None)


def graded_baseline(run: Run) -> str:
    """The baseline that thresholds speak of, in words."""
    return ", ".join(run.graded_baselines).replace("_", " ") or "the baseline"


def speedup_charts(run: Run) -> list[Chart]:
    """Speed-up a dataset with 95 % intervals and thresholds, one chart for each group of cases."""
    return [
        case_chart(
            run,
            group,
            speedup,
            Chart(
                f"speedup-{group.slug}",
                group.named(f"Speed-up over {graded_baseline(run)}"),
                "speed-up, longer is faster",
                (),
                (),
                Style.BARS,
                reference=1.0,
                tick=fmt.ratio,
                caption="95 % intervals stand on each submission's page."
                if _cast(run).crowded
                else "Whiskers are 95 % intervals.",
            ),
            thresholds=True,
        )
        for group in groups_of(run, run.speed_cases)
    ]


def floor_charts(run: Run) -> list[Chart]:
    """Time over floor a dataset, one chart for each group of cases."""

    def value(result: CaseResult) -> Interval | None:
        found = time_over_floor(result)
        return None if found is None else Interval(found)

    return [
        case_chart(
            run,
            group,
            value,
            Chart(
                f"time-over-floor-{group.slug}",
                group.named("Time over the floor"),
                "time / floor, left is better",
                (),
                (),
                Style.DOTS,
                logarithmic=True,
                reference=1.0,
                tick=fmt.ratio,
                caption="The floor is the time to move every compulsory byte once at peak bandwidth.",
            ),
        )
        for group in groups_of(run, run.speed_cases)
    ]


def throughput_chart(run: Run) -> Chart:
    """Mean throughput for each group of cases: a row a submission, or a row a group when they are many."""
    cast = _cast(run)
    groups = groups_of(run, run.speed_cases)
    means = {(s.id, g.slug): mean_throughput(s, g.specs).value for s in cast.shown for g in groups}
    chart = Chart(
        "throughput",
        "Mean throughput",
        f"{'non-zeros' if run.work == 'nnz' else run.work} a second, mean over the measured cases",
        (),
        (),
        tick=fmt.scaled,
    )
    if cast.crowded:
        rows = [
            Row(
                g.title or "all cases",
                tuple(Mark(cast.series[s.id], v, name=s.title) for s in cast.shown if (v := means[s.id, g.slug])),
            )
            for g in groups
        ]
        return replace(chart, rows=tuple(rows), series=cast.names, style=Style.STRIP, caption=cast.caption)
    rows = [
        Row(
            s.title,
            tuple(Mark(i, v) for i, g in enumerate(groups) if (v := means[s.id, g.slug])),
            note="not measured",
        )
        for s in cast.shown
    ]
    return replace(chart, rows=tuple(rows), series=tuple(g.title or "all cases" for g in groups))


def counter_charts(run: Run) -> list[Chart]:
    """The emulator's counters a case; instructions stand relative to the naive reference where it is there."""
    counted = [spec for spec in run.cases if any(s.by_case[spec.id].counters for s in run.submissions)]
    charted = [metric for metric in METRICS if metric.charted]
    return [chart for metric in charted if not (chart := _counter_chart(run, metric, counted)).empty]


def _counter_chart(run: Run, metric: Metric, specs: Sequence[CaseSpec]) -> Chart:
    naive = naive_of(run)
    relative = metric is METRICS[0] and naive is not None

    def value(result: CaseResult) -> Interval | None:
        found = work_over_naive(result, naive) if relative else measure(metric, result)
        return Interval(found) if found is not None and (found > 0 or not metric.logarithmic) else None

    title = f"{metric.title} relative to naive" if relative else metric.title
    return case_chart(
        run,
        Group("", "all", tuple(specs), tuple(_counted_labels(specs))),
        value,
        Chart(
            f"counters-{metric.slug}",
            title,
            metric.meaning,
            (),
            (),
            Style.DOTS,
            logarithmic=metric.logarithmic,
            reference=1.0 if relative else None,
            tick=fmt.ratio if relative else metric.show,
        ),
    )


def _counted_labels(specs: Sequence[CaseSpec]) -> list[str]:
    names = [spec.dataset for spec in specs]
    return names if len(set(names)) == len(names) else [spec.id for spec in specs]


def of_run(run: Run) -> list[Chart]:
    """Every chart that compares the run's submissions: what was measured decides which there are."""
    if run.speed_measured:
        return [*speedup_charts(run), throughput_chart(run), *floor_charts(run)]
    return counter_charts(run) if run.on_emulator else []


def submission_charts(submission: Submission, run: Run) -> list[Chart]:
    """One submission's own bars: speed-ups where they were measured, on the emulator its work relative to naive."""
    if run.speed_measured:
        return _own_speedups(submission, run)
    chart = _own_work(submission, run) if run.on_emulator else None
    return [chart] if chart is not None and not chart.empty else []


def _own_work(submission: Submission, run: Run) -> Chart | None:
    naive = naive_of(run)
    if naive is None or submission is naive:
        return None
    rows = []
    for case in submission.cases:
        ratio = work_over_naive(case, naive)
        marks = (Mark(0, ratio),) if ratio is not None else ()
        rows.append(Row(case.spec.id, marks, note=why_absent(case)))
    return Chart(
        f"{submission.id}-work",
        "Warp instructions relative to naive",
        "shorter is less work",
        tuple(rows),
        (submission.title,),
        reference=1.0,
        tick=fmt.ratio,
    )


def _own_speedups(submission: Submission, run: Run) -> list[Chart]:
    """Speed-up bars for each group of cases, coloured by what the threshold says."""
    charts = []
    for group in groups_of(run, run.speed_cases):
        rows = [
            _submission_row(submission.by_case[spec.id], label)
            for spec, label in zip(group.specs, group.labels, strict=True)
        ]
        chart = Chart(
            f"{submission.id}-{group.slug}",
            group.named("Speed-up"),
            f"speed-up over {graded_baseline(run)}",
            tuple(rows),
            (submission.title,),
            Style.BARS,
            reference=1.0,
            by_status=True,
            tick=fmt.ratio,
        )
        if not chart.empty:
            charts.append(chart)
    return charts


def _submission_row(case: CaseResult, label: str) -> Row:
    ratio = speedup(case)
    status = case.score.threshold_status if case.score.threshold is not None else ""
    marks = (Mark(0, ratio.median, ratio.low, ratio.high, status),) if ratio else ()
    return Row(label, marks, case.score.threshold, why_absent(case))


def why_absent(case: CaseResult) -> str:
    """Why a case has no number."""
    return "not measured" if case.accepted else style_of(case.verdict).label
