"""What changed from one version of a program to the next: what binds it, its counters, its share of the GPU's limit.

A sentence each. Only cases that both versions have right are compared, and counters only with counters of one kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.counters import METRICS, totals_of
from warpgrade_reports.gpu_counters import GpuCounters, GpuKernel, figure_text
from warpgrade_reports.profile import problem_title
from warpgrade_reports.work_log import Judged, Version

_NOISE = 0.05  # counters that differ by less are the same: the emulator's bar beside a GPU's counters
_MOST_NAMES = 3
_BOUNDS = {
    "dram": "device memory",
    "l2": "L2",
    "l1": "L1",
    "shared": "passes through shared memory",
    "issue": "instructions",
    "atomics": "atomic updates",
    "latency": "waiting for loads",
    "tail": "its busiest warp",
    "launch": "starting kernels",
}


def bound_text(bound: str) -> str:
    """A bound of the estimate in words."""
    return _BOUNDS.get(bound, bound)


def stands(version: Version) -> list[str]:
    """Where a version stands by itself: how near it comes to what the GPU allows."""
    return [text] if (text := _share_text(version, version.cases)) else []


def changes(before: Version, after: Version) -> list[str]:
    """What is different; nothing where neither bounds nor counters are known."""
    both = [case for case in after.cases if _comparable(before, after, case)]
    return [*_shares(before, after, both), *_bounds(before, after, both), *_problems(before, after, both),
            *_counters(before, after, both), *_on_gpu(before, after)]  # fmt: skip


def _comparable(before: Version, after: Version, case: str) -> bool:
    return case in before.cases and before.cases[case].accepted and after.cases[case].accepted


def _names(names: Sequence[str]) -> str:
    rest = " and more" if len(names) > _MOST_NAMES else ""
    return f"{fmt.plural(len(names), 'case')} ({', '.join(names[:_MOST_NAMES])}{rest})"


def _share_text(version: Version, cases: Iterable[str]) -> str:
    limits = [limit for case in cases if (limit := version.cases[case].limit) and limit.share]
    mean = geometric_mean(limit.share or 0.0 for limit in limits)
    if mean is None:
        return ""
    bounds = Counter(limit.bound_by for limit in limits)
    told = ", ".join(f"{bound} in {number}" for bound, number in bounds.most_common())
    return f"reaches {fmt.percent(mean)} of what the GPU allows in {fmt.plural(len(limits), 'case')} (bound by {told})"


def _shares(before: Version, after: Version, cases: Sequence[str]) -> Iterator[str]:
    both = [case for case in cases if _has_share(before.cases[case]) and _has_share(after.cases[case])]
    was = geometric_mean(before.cases[case].limit.share or 0.0 for case in both)  # type: ignore[union-attr]
    if was is not None:
        yield f"{_share_text(after, both)}, {fmt.percent(was)} before"
    elif text := _share_text(after, cases):
        yield text


def _has_share(case: Judged) -> bool:
    return case.limit is not None and bool(case.limit.share)


def _bounds(before: Version, after: Version, cases: Sequence[str]) -> Iterator[str]:
    turns: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        was, now = before.cases[case].bound, after.cases[case].bound
        if was and now and was != now:
            turns.setdefault((was, now), []).append(case)
    for (was, now), names in turns.items():
        yield f"depends on {bound_text(now)}, no longer on {bound_text(was)}, in {_names(names)}"


def _problems(before: Version, after: Version, cases: Sequence[str]) -> Iterator[str]:
    counted = [case for case in cases if before.cases[case].counters and after.cases[case].counters]
    for words, one, other in (("no longer", before, after), ("new", after, before)):
        found: dict[str, list[str]] = {}
        for case in counted:
            for problem in sorted(one.cases[case].problems - other.cases[case].problems):
                found.setdefault(problem, []).append(case)
        for problem, names in found.items():
            yield f"{words}: {problem_title(problem)} in {_names(names)}"


def _counters(before: Version, after: Version, cases: Sequence[str]) -> Iterator[str]:
    counted = [case for case in cases if before.cases[case].counters and after.cases[case].counters]
    was, now = (totals_of([version.cases[case].counters for case in counted]) for version in (before, after))
    told = []
    for metric in METRICS:
        old, new = metric.of(was), metric.of(now)
        if old is not None and new is not None and _differs(old, new):
            told.append(f"{metric.title.lower()} {metric.show(old)} → {metric.show(new)}")
    if told:
        yield f"counted by the emulator: {'; '.join(told)}"


def _differs(old: float, new: float) -> bool:
    return abs(new - old) > _NOISE * max(abs(old), abs(new))


def _on_gpu(before: Version, after: Version) -> Iterator[str]:
    known = {(counted.case, counted.device): counted for counted in before.on_gpu}
    for counted in after.on_gpu:
        old = known.get((counted.case, counted.device))
        if old and (told := "; ".join(_kernel_changes(old, counted))):
            yield f"counted by the {counted.device} on {counted.case}: {told}"


def _kernel_changes(before: GpuCounters, after: GpuCounters) -> Iterator[str]:
    """Of the heaviest kernels, which may have other names."""
    was, now = before.heaviest, after.heaviest
    if was is None or now is None:
        return
    if was.name != now.name:
        yield f"the heaviest kernel is {now.name}, before it {was.name}"
    for name, new in now.figures.items():
        old = was.figures.get(name)
        if old is not None and _differs(old, new):
            yield f"{name} {figure_text(name, old)} → {figure_text(name, new)}"
    rates = [_moves(kernel) for kernel in (was, now)]
    if all(rates):
        yield f"it moves {rates[1]} of device memory, {rates[0]} before"


def _moves(kernel: GpuKernel) -> str:
    return "" if kernel.dram_bytes_per_s is None else fmt.scaled(kernel.dram_bytes_per_s, "B/s")
