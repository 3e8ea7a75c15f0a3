"""What is computed from records for people: means, ranks, summaries. Points come from scores.json untouched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpgrade_reports.model import CaseResult, CaseSpec, Interval, Run, Submission


@dataclass(frozen=True)
class Mean:
    """A mean, how many cases it has and how many it could have."""

    value: float | None
    measured: int
    possible: int


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean of the positive values, or None of none."""
    logarithms = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def speedup(result: CaseResult) -> Interval | None:
    """The ratio that the policy grades; only a correct case has one."""
    return result.score.ratio if result.accepted else None


def mean_speedup(submission: Submission, specs: Iterable[CaseSpec]) -> Mean:
    """The geometric mean over those of these cases that were measured."""
    cases = [submission.by_case[spec.id] for spec in specs]
    ratios = [ratio.median for ratio in map(speedup, cases) if ratio]
    return Mean(geometric_mean(ratios), len(ratios), len(cases))


def mean_throughput(submission: Submission, specs: Iterable[CaseSpec]) -> Mean:
    """The arithmetic mean of the lab's work a second over those of these cases that were measured."""
    cases = [submission.by_case[spec.id] for spec in specs]
    rates = [case.throughput_nnz_per_s for case in cases if case.accepted and case.throughput_nnz_per_s is not None]
    return Mean(sum(rates) / len(rates) if rates else None, len(rates), len(cases))


def time_over_floor(result: CaseResult) -> float | None:
    """How many times its floor a case takes: 1 moves every compulsory byte once at peak bandwidth."""
    if result.timing is None or result.floor is None or result.floor.floor_us <= 0 or not result.accepted:
        return None
    return result.timing.time_us.median / result.floor.floor_us


@dataclass(frozen=True)
class Ranked:
    """A line of the class table."""

    rank: int
    submission: Submission


def ranking(submissions: Iterable[Submission]) -> list[Ranked]:
    """By points, equal points sharing a rank; correct cases and the title order what is equal."""
    ordered = sorted(submissions, key=lambda s: (-s.points, -s.correct_cases, s.title.casefold(), s.id))
    ranked: list[Ranked] = []
    for position, submission in enumerate(ordered, start=1):
        same = ranked and math.isclose(ranked[-1].submission.points, submission.points, abs_tol=1e-9)
        ranked.append(Ranked(ranked[-1].rank if same else position, submission))
    return ranked


def verdict_counts(results: Iterable[CaseResult]) -> Counter[str]:
    """How often each verdict was given."""
    return Counter(result.verdict for result in results)


@dataclass(frozen=True)
class Failure:
    """Cases of one submission that failed in the same way."""

    verdict: str
    reason: str
    first: CaseResult
    cases: Sequence[CaseResult]


def failures(submission: Submission) -> list[Failure]:
    """What went wrong, alike faults together, in the order of the cases."""
    groups: dict[tuple[str, str, str], list[CaseResult]] = {}
    for result in submission.cases:
        if result.accepted:
            continue
        shared = result.message if result.verdict in {"compile_error", "not_implemented", "not_run"} else ""
        groups.setdefault((result.verdict, result.reason, shared), []).append(result)
    return [Failure(verdict, reason, cases[0], cases) for (verdict, reason, _), cases in groups.items()]


def baselines(run: Run) -> list[str]:
    """The names of all baselines in the run, the graded one first."""
    graded = {case.score.baseline for s in run.submissions for case in s.cases if case.score.ratio}
    every = {name for s in run.submissions for case in s.cases for name in case.ratios}
    return sorted(every, key=lambda name: (name not in graded, name))
