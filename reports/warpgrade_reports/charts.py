"""The charts of a run and of each submission, made from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import mean_throughput, ranking, speedup, time_over_floor
from warpgrade_reports.chart import MAX_SERIES, Chart, Mark, Row, Style
from warpgrade_reports.counters import METRICS, Metric, measure, naive_of, work_over_naive
from warpgrade_reports.model import CaseResult, CaseSpec, Interval, Run, Submission
from warpgrade_reports.verdicts import style_of

_CROWD = "the class"


def _compared(run: Run) -> tuple[list[Submission], bool]:
    """Whom a chart compares, the best first, and whether they are too many for a colour each."""
    everyone = [*(ranked.submission for ranked in ranking(run.students)), *run.staff]
    return everyone, len(everyone) > MAX_SERIES


def _case_chart(
    run: Run,
    specs: Sequence[CaseSpec],
    value: Callable[[CaseResult], Interval | None],
    chart: Chart,
    *,
    thresholds: bool = False,
) -> Chart:
    """Fills `chart` with a row a case and a mark a submission."""
    everyone, crowded = _compared(run)
    # In a crowd the class is series 0 and the staff's solutions follow, as many as have a shape of their own.
    staff = run.staff[: MAX_SERIES - 1]
    shown = [*run.students, *staff] if crowded else everyone
    names = (_CROWD, *(s.title for s in staff)) if crowded else tuple(s.title for s in everyone)
    series = {s.id: (0 if s.is_student else staff.index(s) + 1) if crowded else i for i, s in enumerate(shown)}
    rows = []
    for spec in specs:
        found = [(s, value(s.by_case[spec.id])) for s in shown]
        marks = tuple(Mark(series[s.id], v.median, v.low, v.high, name=s.title) for s, v in found if v is not None)
        absent = tuple((series[s.id], why_absent(s.by_case[spec.id])) for s, v in found if v is None)
        rows.append(
            Row(
                _case_label(spec, specs),
                marks,
                chart_threshold(run, spec) if thresholds else None,
                "not measured",
                absent,
            )
        )
    return replace(chart, rows=tuple(rows), series=names, style=Style.STRIP if crowded else chart.style)


def _case_label(spec: CaseSpec, specs: Sequence[CaseSpec]) -> str:
    """The dataset's name, with K where the chart has several."""
    return spec.dataset if len({other.k for other in specs}) == 1 else f"{spec.dataset} K={spec.k}"


def chart_threshold(run: Run, spec: CaseSpec) -> float | None:
    """The threshold of a case: the policy's, so the same for everyone."""
    found = [s.by_case[spec.id].score.threshold for s in run.submissions]
    return next((threshold for threshold in found if threshold is not None), None)


def graded_baseline(run: Run) -> str:
    """The baseline that thresholds speak of, in words."""
    names = {case.score.baseline for s in run.submissions for case in s.cases if case.score.baseline}
    return ", ".join(sorted(names)).replace("_", " ") or "the baseline"


def speedup_charts(run: Run) -> list[Chart]:
    """Speed-up a dataset with 95 % intervals and thresholds, one chart for each K."""
    return [
        _case_chart(
            run,
            [spec for spec in run.speed_cases if spec.k == k],
            speedup,
            Chart(
                f"speedup-k{k}",
                f"Speed-up over {graded_baseline(run)}, K = {k}",
                "speed-up, longer is faster",
                (),
                (),
                Style.BARS,
                reference=1.0,
                tick=fmt.ratio,
                caption=_speed_caption(run),
            ),
            thresholds=True,
        )
        for k in run.ks
    ]


def _speed_caption(run: Run) -> str:
    if _compared(run)[1]:
        return "A dot a submission; the tall line is the class's median. Intervals stand on each submission's page."
    return "Whiskers are 95 % intervals."


def floor_charts(run: Run) -> list[Chart]:
    """Time over floor a dataset, one chart for each K."""

    def value(result: CaseResult) -> Interval | None:
        found = time_over_floor(result)
        return None if found is None else Interval(found)

    return [
        _case_chart(
            run,
            [spec for spec in run.speed_cases if spec.k == k],
            value,
            Chart(
                f"time-over-floor-k{k}",
                f"Time over the floor, K = {k}",
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
        for k in run.ks
    ]


def throughput_chart(run: Run) -> Chart:
    """Mean throughput for each K: a row a submission, or a row a K when they are many."""
    everyone, crowded = _compared(run)
    means = {(s.id, k): mean_throughput(s, k).value for s in everyone for k in run.ks}
    base = Chart(
        "throughput",
        "Mean throughput",
        "non-zeros a second, mean over the measured cases",
        (),
        (),
        tick=lambda value: fmt.scaled(value),
    )
    if not crowded:
        rows = [
            Row(
                s.title,
                tuple(Mark(i, value) for i, k in enumerate(run.ks) if (value := means[s.id, k]) is not None),
                note="not measured",
            )
            for s in everyone
        ]
        return Chart(base.slug, base.title, base.axis, tuple(rows), tuple(f"K = {k}" for k in run.ks), tick=base.tick)
    staff = run.staff[: MAX_SERIES - 1]
    order = [(s, 0) for s in run.students] + [(s, i) for i, s in enumerate(staff, start=1)]
    rows = [
        Row(
            f"K = {k}",
            tuple(Mark(series, value, name=s.title) for s, series in order if (value := means[s.id, k]) is not None),
        )
        for k in run.ks
    ]
    return Chart(
        base.slug, base.title, base.axis, tuple(rows), (_CROWD, *(s.title for s in staff)), Style.STRIP, tick=base.tick
    )


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
    return _case_chart(
        run,
        specs,
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
    """Speed-up bars for each K, coloured by what the threshold says."""
    charts = []
    for k in run.ks:
        cases = [case for case in submission.cases if case.spec.is_speed and case.spec.k == k]
        rows = [_submission_row(case) for case in cases]
        chart = Chart(
            f"{submission.id}-k{k}",
            f"Speed-up, K = {k}",
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


def _submission_row(case: CaseResult) -> Row:
    ratio = speedup(case)
    status = case.score.threshold_status if case.score.threshold is not None else ""
    marks = (Mark(0, ratio.median, ratio.low, ratio.high, status),) if ratio else ()
    return Row(case.spec.dataset, marks, case.score.threshold, why_absent(case))


def why_absent(case: CaseResult) -> str:
    """Why a case has no number."""
    return "not measured" if case.accepted else style_of(case.verdict).label
