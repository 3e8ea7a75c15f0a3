"""What the emulator counted, as the ratios that tell why a kernel is slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import Mean, geometric_mean
from warpgrade_reports.model import CaseResult, Run, Submission
from warpgrade_reports.source import finite

NAIVE = "naive"


def value_of(counters: Mapping[str, Any] | None, name: str) -> float | None:
    """One total, or None when it was not counted."""
    return finite(counters.get(name)) if counters else None


def _quotient(counters: Mapping[str, Any], over: str, under: str) -> float | None:
    upper, lower = value_of(counters, over), value_of(counters, under)
    return upper / lower if upper is not None and lower else None


def _lane_share(counters: Mapping[str, Any]) -> float | None:
    lanes = value_of(counters, "active_lanes")
    if lanes is None:
        lanes = _quotient(counters, "thread_instructions", "warp_instructions")
    return None if lanes is None else lanes / 32


def _atomic_rate(counters: Mapping[str, Any]) -> float | None:
    rate = _quotient(counters, "atomics", "warp_instructions")
    return None if rate is None else 1000 * rate


@dataclass(frozen=True)
class Metric:
    """A number of one case, made from its totals."""

    slug: str
    title: str
    short: str
    meaning: str
    of: Callable[[Mapping[str, Any]], float | None]
    show: Callable[[float | None], str]
    logarithmic: bool = False
    charted: bool = True
    whole: float | None = None  # what a full bar stands for; without it the largest value of the run


METRICS = (
    Metric(
        "warp-instructions",
        "Warp instructions",
        "warp instr.",
        "fewer is less work",
        lambda c: value_of(c, "warp_instructions"),
        fmt.scaled,
        logarithmic=True,
    ),
    Metric(
        "active-lanes",
        "Active lanes",
        "active lanes",
        "of 32; the rest of a warp idles behind divergence",
        _lane_share,
        fmt.percent,
        whole=1.0,
    ),
    Metric(
        "global-sectors",
        "Global sectors per request",
        "sectors / req.",
        "32-byte sectors that a warp's access touches",
        lambda c: _quotient(c, "global_sectors", "global_requests"),
        fmt.digits,
    ),
    Metric(
        "sectors-over-ideal",
        "Global sectors over ideal",
        "sectors / ideal",
        "1 is perfectly coalesced; above it bytes are fetched in vain",
        lambda c: _quotient(c, "global_sectors", "global_sectors_ideal"),
        fmt.ratio,
    ),
    Metric(
        "reads-of-a-sector",
        "Reads of each global sector",
        "reads / sector",
        "how often a launch reads each sector that it reads; what is kept in registers or shared memory is read once",
        lambda c: _quotient(c, "global_load_sectors", "distinct_sectors_read"),
        fmt.digits,
        charted=False,
    ),
    Metric(
        "shared-passes",
        "Shared-memory passes per request",
        "passes / req.",
        "1 is free of bank conflicts",
        lambda c: _quotient(c, "shared_passes", "shared_requests"),
        fmt.digits,
    ),
    Metric(
        "atomics",
        "Atomics",
        "atomics",
        "atomic operations in all",
        lambda c: value_of(c, "atomics"),
        fmt.scaled,
        charted=False,
    ),
    Metric(
        "atomics-per-thousand",
        "Atomics per 1000 warp instructions",
        "atomics / 1000",
        "atomic operations for each 1000 warp instructions",
        _atomic_rate,
        fmt.digits,
    ),
    Metric(
        "arithmetic-to-memory",
        "Arithmetic to memory",
        "arith. / mem.",
        "arithmetic instructions for each memory instruction",
        lambda c: _quotient(c, "arithmetic", "memory"),
        fmt.digits,
    ),
)


def measure(metric: Metric, result: CaseResult) -> float | None:
    """The metric on a case; a case that failed stopped early, so its counts do not compare and are left out."""
    return metric.of(result.counters) if result.accepted and result.counters else None


def largest(run: Run, metric: Metric) -> float | None:
    """What a metric's full bar stands for; counts span decades and have none."""
    if metric.whole is not None or metric.show is fmt.scaled:
        return metric.whole
    found = [measure(metric, case) for s in run.submissions for case in s.cases]
    return max((value for value in found if value is not None), default=None)


def naive_of(run: Run) -> Submission | None:
    """The class's yardstick: the reference called `naive`."""
    return next((s for s in run.staff if s.id == NAIVE and s.role == "reference"), None)


def work_over_naive(result: CaseResult, naive: Submission | None) -> float | None:
    """A case's warp instructions over those of the naive kernel on the same case."""
    if naive is None or result.spec.id not in naive.by_case:
        return None
    own = measure(METRICS[0], result)
    base = measure(METRICS[0], naive.by_case[result.spec.id])
    return own / base if own is not None and base else None


def mean_work_over_naive(submission: Submission, naive: Submission | None) -> Mean:
    """The geometric mean of work_over_naive over the accepted cases that have both."""
    ratios = [ratio for ratio in (work_over_naive(case, naive) for case in submission.cases) if ratio is not None]
    return Mean(geometric_mean(ratios), len(ratios), len(submission.cases))


_TOTALS = (
    "warp_instructions",
    "thread_instructions",
    "global_requests",
    "global_sectors",
    "global_sectors_ideal",
    "global_load_sectors",
    "distinct_sectors_read",
    "shared_requests",
    "shared_passes",
    "atomics",
    "arithmetic",
    "memory",
)


def totals_of(counters: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What metrics are made of, over several cases together; a total that one of them lacks is left out."""
    sums = {}
    for name in _TOTALS:
        found = [value_of(each, name) for each in counters]
        if counters and None not in found:
            sums[name] = sum(value for value in found if value is not None)
    return sums


def pooled(metric: Metric, submission: Submission) -> float | None:
    """The metric over all accepted cases together: totals first, then the quotient."""
    counted = [case.counters for case in submission.cases if case.accepted and case.counters]
    return metric.of(totals_of(counted)) if counted else None
