"""Where a submission's work goes: what the judge found wrong with its kernels, and the lines that cost most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from warpgrade_reports.model import CaseResult, Submission
from warpgrade_reports.source import finite
from warpgrade_reports.text import plain_text, problem_of

_TITLES = {
    "divergence": "divergence",
    "uncoalesced": "uncoalesced access",
    "redundant": "redundant traffic",
    "imbalance": "load imbalance",
    "bank_conflicts": "bank conflicts",
    "contention": "contention of atomics",
}
_MOST_FINDINGS = 6
_SMALLEST_SHARE = 0.01  # of a case's instructions; lines below it are left out


@dataclass(frozen=True)
class Place:
    where: str
    text: str
    share: float | None


@dataclass(frozen=True)
class Finding:
    """What is wrong with a kernel, in the case where it costs most."""

    title: str
    kernel: str
    case: str
    cases: int  # that show it
    severity: float
    message: str
    advice: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Line:
    """One source line of a case, over all kernels; ratios are None where there is no such access."""

    file: str
    number: int
    source: str
    share: float
    lanes: float | None
    sectors: float | None
    sectors_ideal: float | None
    passes: float | None
    passes_ideal: float | None
    atomics: float | None
    turns: float | None


@dataclass(frozen=True)
class Profile:
    """The lines of the case that executes most."""

    case: str
    lines: tuple[Line, ...]
    left_out: float  # part of the instructions in lines that are not shown

    @property
    def has_passes(self) -> bool:
        return any(line.passes is not None for line in self.lines)

    @property
    def has_atomics(self) -> bool:
        return any(line.atomics is not None for line in self.lines)

    @property
    def indent(self) -> int:
        """Blanks that every line begins with."""
        return min((len(line.source) - len(line.source.lstrip()) for line in self.lines if line.source), default=0)


def _objects(parent: Mapping[str, Any] | None, name: str) -> Iterator[Mapping[str, Any]]:
    found = parent.get(name) if parent else None
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else iter(())


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return plain_text(value) if isinstance(value, str) else ""


def _number(item: Mapping[str, Any], name: str) -> float:
    return finite(item.get(name)) or 0.0


def problem_title(kind: str) -> str:
    """A kind of problem in words."""
    return _TITLES.get(kind, kind)


def kernel_name(title: str) -> str:
    """As people call it: the anonymous namespace says nothing."""
    return title.replace("(anonymous namespace)::", "")


def _place(item: Mapping[str, Any]) -> Place:
    where = f"{_text(item, 'file')}:{_number(item, 'line'):.0f}"
    return Place(where, _text(item, "text"), finite(item.get("share")))


def findings_of(submission: Submission) -> list[Finding]:
    """Each trouble of each kernel once, the costliest first."""
    worst: dict[tuple[str, str], tuple[CaseResult, Mapping[str, Any]]] = {}
    cases: dict[tuple[str, str], int] = {}
    for case in submission.cases:
        for item in _objects(case.counters, "findings"):
            key = (problem_of(item), _text(item, "kernel"))
            cases[key] = cases.get(key, 0) + 1
            if key not in worst or _number(item, "severity") > _number(worst[key][1], "severity"):
                worst[key] = (case, item)
    found = [
        Finding(
            problem_title(problem),
            kernel_name(kernel),
            case.spec.id,
            cases[problem, kernel],
            _number(item, "severity"),
            _text(item, "message"),
            _text(item, "advice"),
            tuple(_place(place) for place in _objects(item, "places")),
        )
        for (problem, kernel), (case, item) in worst.items()
    ]
    found.sort(key=lambda finding: -finding.severity)
    return found[:_MOST_FINDINGS]


def _quotient(over: float, under: float) -> float | None:
    return over / under if under else None


def _line(place: tuple[str, int], sums: Mapping[str, float], source: str, all_instructions: float) -> Line:
    def get(name: str) -> float:
        return sums.get(name, 0.0)

    return Line(
        *place,
        source,
        get("warp_instructions") / all_instructions,
        _quotient(get("thread_instructions"), get("warp_instructions")),
        _quotient(get("global_sectors"), get("global_requests")),
        _quotient(get("global_sectors_ideal"), get("global_requests")),
        _quotient(get("shared_passes"), get("shared_requests")),
        _quotient(get("shared_passes_ideal"), get("shared_requests")),
        get("atomics") or None,
        _quotient(get("atomic_turns"), get("atomic_requests")),
    )


def profile_of(submission: Submission) -> Profile | None:
    """The lines that matter in the accepted case of most instructions; None when no record has lines."""
    counted = [case for case in submission.cases if case.accepted and case.counters]
    if not counted:
        return None
    case = max(counted, key=lambda c: _number(c.counters or {}, "warp_instructions"))
    sums: dict[tuple[str, int], dict[str, float]] = {}
    sources: dict[tuple[str, int], str] = {}
    for kernel in _objects(case.counters, "kernels"):
        for item in _objects(kernel, "lines"):
            place = (_text(item, "file"), int(_number(item, "line")))
            line = sums.setdefault(place, {})
            for name, value in item.items():
                number = finite(value)
                if number is not None:
                    line[name] = line.get(name, 0.0) + number
            sources.setdefault(place, "")
            sources[place] = sources[place] or _text(item, "source")
    total = sum(line.get("warp_instructions", 0.0) for line in sums.values())
    if not total:
        return None
    every = (_line(place, sums[place], sources[place], total) for place in sorted(sums))
    shown = tuple(line for line in every if line.share >= _SMALLEST_SHARE)
    return Profile(case.spec.id, shown, max(0.0, 1 - sum(line.share for line in shown)))
