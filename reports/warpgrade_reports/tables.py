"""The two tables beside the page: table.md for people, table.csv for programs. README.md lists the CSV's columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence

from warpgrade_reports import analysis, counters
from warpgrade_reports import format as fmt
from warpgrade_reports.grouping import groups_of
from warpgrade_reports.model import CaseResult, Interval, Run, Submission
from warpgrade_reports.overrides import points_remark
from warpgrade_reports.page import speed_reason

_COUNTED = (
    "launches",
    "warp_instructions",
    "thread_instructions",
    "active_lanes",
    "global_requests",
    "global_sectors",
    "global_sectors_ideal",
    "shared_requests",
    "shared_passes",
    "atomics",
    "arithmetic",
    "memory",
    "barriers",
    "divergent_branches",
)
CSV_COLUMNS = (
    "run",
    "lab",
    "backend",
    "submission",
    "title",
    "role",
    "interface",
    "case",
    "dataset",
    "dataset_kind",
    "k",
    "kind",
    "nnz",
    "verdict",
    "reason",
    "message",
    "points",
    "max_points",
    "baseline",
    "speedup",
    "speedup_low",
    "speedup_high",
    "threshold",
    "threshold_status",
    "other_speedups",
    "time_us",
    "time_low_us",
    "time_high_us",
    "bound_by",
    "plan_ms",
    "break_even_runs",
    "throughput_nnz_per_s",
    "floor_us",
    "time_over_floor",
    "repetitions",
    "max_error_over_bound",
    *(f"count_{name}" for name in _COUNTED),
    "warp_instructions_over_naive",
    "plan_device_bytes",
)


def csv_table(run: Run) -> str:
    """One line a submission and case; what is not known is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    naive = counters.naive_of(run)
    for submission in run.submissions:
        for case in submission.cases:
            cells = [*_identity(run, submission, case), *_outcome(case), *_speed(case), *_counts(case, naive)]
            writer.writerow([_cell(value) for value in cells])
    return text.getvalue()


def _cell(value: object) -> str:
    """Numbers with all their digits; a text that a spreadsheet would run as a formula is made plain."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    text = str(value)
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _identity(run: Run, submission: Submission, case: CaseResult) -> Iterable[object]:
    spec = case.spec
    return (
        run.id,
        run.lab,
        run.backend,
        submission.id,
        submission.title,
        submission.role,
        submission.interface,
        spec.id,
        spec.dataset,
        spec.dataset_kind,
        spec.width,
        spec.kind,
        spec.nnz,
    )


def _outcome(case: CaseResult) -> Iterable[object]:
    return case.verdict, case.reason, case.message, case.score.points, case.score.max_points


def _speed(case: CaseResult) -> Iterable[object]:
    score, timing, floor = case.score, case.timing, case.floor
    others = " ".join(
        f"{name}={ratio.median:.6g}" for name, ratio in sorted(case.ratios.items()) if name != score.baseline
    )
    return (
        score.baseline,
        *_ends(analysis.speedup(case)),
        score.threshold,
        score.threshold_status,
        others,
        *_ends(timing.time_us if timing else None),
        timing.bound_by if timing else "",
        timing.plan_ms if timing else None,
        timing.break_even_runs if timing else None,
        case.throughput_nnz_per_s,
        floor.floor_us if floor else None,
        analysis.time_over_floor(case),
        case.repetitions,
        case.max_error_over_bound,
    )


def _ends(interval: Interval | None) -> Sequence[float | None]:
    return (interval.median, interval.low, interval.high) if interval else (None, None, None)


def _counts(case: CaseResult, naive: Submission | None) -> Iterable[object]:
    yield from (counters.value_of(case.counters, name) for name in _COUNTED)
    yield counters.work_over_naive(case, naive)
    yield case.plan_device_bytes


def markdown_table(run: Run) -> str:
    """The class and the staff's solutions, with what was not measured said in words."""
    lines = [
        f"# {fmt.markdown(run.lab)}: {fmt.markdown(run.id)}",
        "",
        f"Backend {fmt.markdown(run.backend)}, {len(run.submissions)} submissions, {len(run.cases)} cases.",
    ]
    if not run.speed_measured:
        reason = speed_reason(run)
        lines.append(reason[0].upper() + reason[1:] + ".")
    undecided = sum(s.undecided_cases for s in run.submissions)
    if undecided:
        lines.append(f"Verdicts still open (judge fault or not run): {undecided}. They cost no one a point.")
    if run.points_note:
        lines.append(f"Points: {run.points_note}")
    ranked = [(str(r.rank), r.submission) for r in analysis.ranking(run.students)]
    for title, rows in (("Class", ranked), ("References and baselines", [(s.role, s) for s in run.staff])):
        if rows:
            lines += ["", f"## {title}", "", *_markdown_rows(run, rows)]
    return "\n".join(lines) + "\n"


def _markdown_rows(run: Run, rows: Sequence[tuple[str, Submission]]) -> Iterable[str]:
    heads = ["", "submission", "points", "of", "verdict", "correct", "not judged"]
    naive = counters.naive_of(run)
    groups = groups_of(run, run.speed_cases)
    if run.speed_measured:
        heads += [
            "over threshold",
            *(f"speed-up {group.short}".strip() for group in groups),
            *(f"{run.work}/s {group.short}".strip() for group in groups),
        ]
    elif naive:
        heads.append("instructions over naive")
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "|".join("---" if head in {"submission", "verdict"} else "---:" for head in heads) + "|"
    for first, s in rows:
        cells = [
            first,
            fmt.markdown(s.title),
            fmt.points(s.points) + (f" ({fmt.markdown(points_remark(s))})" if s.set_points else ""),
            fmt.trimmed(fmt.points(s.max_points)),
            s.verdict.replace("_", " "),
            f"{s.correct_cases}/{s.total_cases}",
            str(s.undecided_cases),
        ]
        if run.speed_measured:
            cells.append(f"{s.over_threshold}/{s.threshold_cases}")
            cells += [_mean(analysis.mean_speedup(s, group.specs), fmt.ratio) for group in groups]
            cells += [_mean(analysis.mean_throughput(s, group.specs), fmt.scaled) for group in groups]
        elif naive:
            cells.append(_mean(counters.mean_work_over_naive(s, naive), fmt.ratio))
        yield "| " + " | ".join(cells) + " |"


def _mean(mean: analysis.Mean, show: Callable[[float], str]) -> str:
    return fmt.UNKNOWN if mean.value is None else f"{show(mean.value)} ({mean.measured}/{mean.possible})"
