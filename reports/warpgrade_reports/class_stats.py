"""What a class report says, computed from the run's records: quartiles, pass rates, mistakes, time spent."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpgrade_reports.analysis import geometric_mean, speedup
from warpgrade_reports.model import CaseSpec, Run, Submission
from warpgrade_reports.text import json_lines, plain_json
from warpgrade_reports.verdicts import style_of

_MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Box:
    """Quartiles, whiskers (the last value within 1.5 interquartile ranges) and what lies beyond."""

    count: int
    low: float
    first: float
    median: float
    third: float
    high: float
    beyond: tuple[float, ...] = ()


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between neighbours, as numpy's default."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def box_of(values: Sequence[float]) -> Box | None:
    """The box of a set of values, or None of none."""
    if not values:
        return None
    ordered = sorted(values)
    first, middle, third = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (third - first)
    inside = [value for value in ordered if first - reach <= value <= third + reach]
    beyond = tuple(value for value in ordered if not first - reach <= value <= third + reach)
    return Box(len(ordered), inside[0], first, middle, third, inside[-1], beyond)


@dataclass(frozen=True)
class CaseLine:
    """A speed case over the class."""

    spec: CaseSpec
    values: tuple[float, ...]  # speed-ups of correct submissions
    threshold: float | None
    statuses: Counter[str]  # pass, within_noise, fail, incorrect, not_judged

    @property
    def box(self) -> Box | None:
        """The speed-ups' box."""
        return box_of(self.values)


def case_lines(run: Run) -> list[CaseLine]:
    """The cases for speed in the run's order; students alone."""
    lines = []
    for spec in run.speed_cases:
        results = [s.by_case[spec.id] for s in run.students]
        statuses: Counter[str] = Counter()
        for result in results:
            if result.undecided:
                statuses["not_judged"] += 1
            elif not result.accepted:
                statuses["incorrect"] += 1
            else:
                statuses[result.score.threshold_status or "not_measured"] += 1
        threshold = next((r.score.threshold for r in results if r.score.threshold is not None), None)
        values = tuple(ratio.median for ratio in map(speedup, results) if ratio)
        lines.append(CaseLine(spec, values, threshold, statuses))
    return lines


@dataclass
class Mistake:
    """A kind of failure over the class."""

    verdict: str
    reason: str
    cases: int = 0
    students: set[str] = field(default_factory=set)
    examples: list[str] = field(default_factory=list)


def mistakes(run: Run) -> list[Mistake]:
    """What went wrong, by verdict and reason, most students first; what is nobody's fault stays out."""
    found: dict[tuple[str, str], Mistake] = {}
    for submission in run.students:
        for case in submission.cases:
            if case.accepted or case.undecided or case.left_out:
                continue
            mistake = found.setdefault((case.verdict, case.reason), Mistake(case.verdict, case.reason))
            mistake.cases += 1
            mistake.students.add(submission.id)
            if case.message and case.message not in mistake.examples and len(mistake.examples) < _MAX_EXAMPLES:
                mistake.examples.append(case.message)
    return sorted(found.values(), key=lambda m: (-len(m.students), -m.cases, m.verdict, m.reason))


@dataclass(frozen=True)
class Doubt:
    """A case that a person has to look at."""

    submission: Submission
    case: str
    costs: bool  # the case is lost; else it is left out of the score until it is judged
    words: tuple[str, ...]


def doubts(run: Run) -> list[Doubt]:
    """Where the judge failed: because of the submission, which costs the case, or by itself, which costs nothing."""
    found = []
    for submission in run.submissions:
        for case in submission.cases:
            if case.judge_faults:
                found.append(Doubt(submission, case.spec.id, True, case.judge_faults))
            elif case.verdict == "judge_fault":
                found.append(Doubt(submission, case.spec.id, False, (case.message,)))
    return found


def student_means(run: Run, specs: Sequence[CaseSpec]) -> list[float]:
    """Each student's geometric mean speed-up over these cases, where one was measured."""
    means = []
    for submission in run.students:
        found = [speedup(submission.by_case[spec.id]) for spec in specs]
        ratios = [ratio.median for ratio in found if ratio]
        mean = geometric_mean(ratios)
        if mean is not None:
            means.append(mean)
    return means


@dataclass
class Spending:
    """Where the time of judging went, in seconds."""

    judging_s: float = 0  # wall time of all cases
    gpu_s: float | None = None  # what submissions held of a GPU
    compile_s: float = 0
    phases: dict[str, float] = field(default_factory=dict)
    slowest: list[tuple[Submission, float]] = field(default_factory=list)
    infrastructure: Counter[str] = field(default_factory=Counter)


def spending(run: Run, folder: Path) -> Spending:
    """From records; GPU time from judging.json where batch wrote it, else a case's whole wall time on a GPU."""
    result = Spending()
    phases: dict[str, float] = defaultdict(float)
    seconds: dict[str, float] = defaultdict(float)
    held: dict[str, float] = {}
    for submission in run.submissions:
        for case in submission.cases:
            seconds[submission.id] += case.wall_s or 0
            for phase, value in case.phases.items():
                phases[phase] += value
        if submission.compilation and submission.compilation.seconds:
            result.compile_s += submission.compilation.seconds
        known = _held_gpu(folder / "submissions" / submission.id / "judging.json")
        if known is not None:
            held[submission.id] = known
    result.judging_s = sum(seconds.values())
    result.phases = dict(sorted(phases.items(), key=lambda item: -item[1]))
    if run.backend == "cuda":
        result.gpu_s = sum(held.get(s.id, seconds[s.id]) for s in run.submissions)
    result.slowest = sorted(((s, seconds[s.id]) for s in run.students), key=lambda item: -item[1])[:5]
    result.infrastructure = _infrastructure(folder / "events.jsonl")
    return result


def _objects(text: str) -> list[dict[str, Any]]:
    found = []
    for _, line in json_lines(text):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(plain_json(value))
    return found


def _held_gpu(file: Path) -> float | None:
    if not file.is_file():
        return None
    try:
        sessions = json.loads(file.read_text(encoding="utf-8")).get("sessions", [])
    except (ValueError, AttributeError):
        return None
    values = [s["gpu_s"] for s in sessions if isinstance(s, dict) and isinstance(s.get("gpu_s"), int | float)]
    return float(sum(values)) if values else None


def _infrastructure(file: Path) -> Counter[str]:
    """How often each event of the cluster or the judge was met; never a submission's fault."""
    if not file.is_file():
        return Counter()
    events = _objects(file.read_text(encoding="utf-8", errors="replace"))
    return Counter(str(event.get("event")) for event in events if event.get("kind") == "infrastructure")


def score_bins(run: Run, bins: int = 20) -> list[int]:
    """How many students lie in each twentieth of the points; full points are in the last."""
    counts = [0] * bins
    for submission in run.students:
        share = submission.points / run.max_points if run.max_points else 0
        counts[min(bins - 1, max(0, int(share * bins + 1e-9)))] += 1
    return counts


def verdict_line(run: Run) -> list[tuple[str, str, int]]:
    """The students' overall verdicts: name, label, how many."""
    counts = Counter(s.verdict for s in run.students)
    return [(verdict, style_of(verdict).label, count) for verdict, count in counts.most_common()]
