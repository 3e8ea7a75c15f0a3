"""A student's way to the result: versions in the order in which they were judged, what changed, and what it gained.

Read from run folders alone: who handed in what and when (submissions.json), its sources (snapshots/) and its records. A
version is an attempt whose sources differ from those before. Nothing here is a verdict or a point.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from warpgrade_reports.model import ACCEPTED, Interval
from warpgrade_reports.source import ReportInputError, finite, parse_node, read_node, read_raw
from warpgrade_reports.text import json_lines, lines_of, plain_line, plain_text
from warpgrade_reports.untrusted import files_below, read_plain

MANIFEST = "submission.yaml"
MOST_BYTES = 1 << 20  # of one source
MOST_LINES = 300  # of a difference that is shown
_LONGEST_NOTE = 500
_STEP = "name run folders (runs/NAME), or the desk's folder"
_CLAIM = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?:x\b|×|times\b)")
_PERCENT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*%\s*(?:faster|less|quicker)")


@dataclass(frozen=True)
class Judged:
    """One case of a version. Without a GPU there is no time; warp instructions are what the emulator counts."""

    verdict: str
    time_us: Interval | None = None
    warp_instructions: float | None = None
    bound: str = ""  # what its time on a GPU would depend on, by the estimate
    problems: frozenset[str] = frozenset()  # what makes it slow, by the emulator's counters


@dataclass(frozen=True)
class Gain:
    """How many times as fast (or as sparing of instructions) as the version before, over the cases of both.

    The geometric mean; low to high holds it with 95 %, by the cases' own intervals.
    """

    factor: float
    low: float
    high: float
    cases: int
    slower: int  # of these, beyond noise
    of: str  # "time" or "instructions"

    @property
    def certain(self) -> bool:
        """Whether it is beyond noise."""
        return not self.low <= 1 <= self.high


@dataclass(frozen=True)
class Version:
    """One judged state of the sources."""

    number: int
    run: str
    attempt: int
    at: str  # UTC, as the run wrote it
    sources: Mapping[str, str]  # text by path, without the manifest
    notes: tuple[str, ...]
    backend: str
    device: str
    cases: Mapping[str, Judged]

    @property
    def correct(self) -> int:
        """How many cases were accepted."""
        return sum(case.verdict == ACCEPTED for case in self.cases.values())

    @property
    def is_counted(self) -> bool:
        """Whether the emulator said what its time depends on."""
        return any(case.bound or case.problems for case in self.cases.values())

    @property
    def claims(self) -> float | None:
        """What the notes expect: "1.5x" is 1.5, "20 % less" is 1.25. None where no such number stands there."""
        for note in self.notes:
            if found := _CLAIM.search(note):
                return float(found[1])
            if (found := _PERCENT.search(note)) and float(found[1]) < 100:  # noqa: PLR2004 - of the time before
                return 100 / (100 - float(found[1]))
        return None


@dataclass(frozen=True)
class Step:
    """A version beside the one before; of the first there is no difference and no gain."""

    version: Version
    added: int = 0
    removed: int = 0
    difference: tuple[str, ...] = ()
    gain: Gain | None = None

    @property
    def said(self) -> str:
        """What the notes say beside what was measured, in a sentence."""
        if not self.version.notes:
            return ""
        if self.gain is None:
            return "nothing to compare with was measured"
        measured = f"measured: {self.gain.factor:.3g} times, {'' if self.gain.certain else 'not '}beyond noise"
        claims = self.version.claims
        return measured if claims is None else f"expected {claims:.3g} times; {measured}"


@dataclass(frozen=True)
class WorkLog:
    """All versions of one student in one lab."""

    student: str
    lab: str
    steps: Sequence[Step] = field(default_factory=tuple)

    @cached_property
    def gains(self) -> int:
        """Versions that are faster than the one before, beyond noise."""
        return sum(step.gain is not None and step.gain.certain and step.gain.factor > 1 for step in self.steps)

    @cached_property
    def notes(self) -> int:
        """Versions with a note."""
        return sum(bool(step.version.notes) for step in self.steps)

    @cached_property
    def unmeasured_notes(self) -> int:
        """Versions with a note for which nothing was measured."""
        return sum(bool(step.version.notes) and step.gain is None for step in self.steps[1:])

    @cached_property
    def over_first(self) -> list[float | None]:
        """How many times as fast as the first version each one is; None from where no gain is known on."""
        factors: list[float | None] = [1.0]
        for step in self.steps[1:]:
            before = factors[-1]
            factors.append(before * step.gain.factor if before is not None and step.gain else None)
        return factors

    @property
    def whole_at_once(self) -> bool:
        """The work arrived in one version that is right: listed for staff, never judged."""
        return len(self.steps) == 1 and self.steps[0].version.correct == len(self.steps[0].version.cases) > 0


def run_folders(places: Iterable[Path]) -> list[Path]:
    """The runs themselves, and those below a desk's folder; raises ReportInputError where there are none."""
    found: list[Path] = []
    for place in places:
        below = [place] if (place / "run.json").is_file() else [f.parent for f in sorted(place.glob("**/run/run.json"))]
        if not below:
            raise ReportInputError(str(place), "expected a run's folder, or a desk's with runs in it", _STEP)
        found.extend(below)
    return found


def students_of(runs: Iterable[Path]) -> list[str]:
    """Everybody who handed something in, sorted."""
    people = {person for run in runs for attempt in _attempts(run) for person in _people(attempt)}
    return sorted(people)


def read_work_log(student: str, runs: Sequence[Path]) -> WorkLog:
    """The student's versions over these runs; raises ReportInputError where there are none, or several labs."""
    versions = [version for run in runs for version in _versions(student, run)]
    if not versions:
        some = ", ".join(students_of(runs)[:8])
        raise ReportInputError(_named(runs), f"nothing was handed in by '{student}'; there is {some}", _STEP)
    labs = {read_node(run / "run.json", _STEP).text("lab") for run in runs}
    if len(labs) > 1:
        raise ReportInputError(_named(runs), f"expected runs of one lab, got {', '.join(sorted(labs))}", _STEP)
    versions.sort(key=lambda version: (version.at, version.attempt))
    return WorkLog(student, labs.pop(), tuple(_steps(versions)))


def _named(runs: Sequence[Path]) -> str:
    return ", ".join(map(str, runs))


def _steps(versions: Sequence[Version]) -> Iterator[Step]:
    before: Version | None = None
    number = 0
    for version in versions:
        if before is not None and version.sources == before.sources and version.notes == before.notes:
            continue  # judged again, or handed in once more
        number += 1
        numbered = Version(**{**version.__dict__, "number": number})
        if before is None:
            yield Step(numbered)
        else:
            lines = _difference(before.sources, numbered.sources)
            added = sum(line.startswith("+") for line in lines)
            removed = sum(line.startswith("-") for line in lines)
            yield Step(numbered, added, removed, tuple(lines), _gain(before, numbered))
        before = numbered


def _attempts(run: Path) -> list[dict[str, Any]]:
    file = run / "submissions.json"
    if not file.is_file():
        return []
    return [attempt for attempt in read_node(file, _STEP).value.get("attempts", ()) if attempt.get("snapshot")]


def _people(attempt: Mapping[str, Any]) -> set[str]:
    return {str(attempt.get("student", "")), *map(str, attempt.get("members", ()))} - {""}


def _versions(student: str, run: Path) -> Iterator[Version]:
    own = [attempt for attempt in _attempts(run) if student in _people(attempt)]
    if not own:
        return
    described = read_node(run / "run.json", _STEP)
    records = _records(run, {str(attempt.get("submission")) for attempt in own})
    for attempt in own:
        sources, notes = _sources(run / str(attempt["snapshot"]))
        yield Version(
            number=0,
            run=run.name if run.name != "run" else run.parent.name,
            attempt=int(attempt.get("attempt", 0)),
            at=str(attempt.get("submitted_at", "")),
            sources=sources,
            notes=notes,
            backend=str(described.value.get("backend", "")),
            device=str((described.value.get("device") or {}).get("name", "")),
            cases=records.get(str(attempt.get("submission")), {}),
        )


def _records(run: Path, submissions: set[str]) -> dict[str, dict[str, Judged]]:
    found: dict[str, dict[str, Judged]] = {}
    for record in _read_records(run, submissions):
        name = record["submission"]["id"]
        if name in submissions:
            found.setdefault(name, {})[record["case"]["id"]] = _judged(record)
    return found


def _read_records(run: Path, submissions: set[str]) -> Iterator[dict[str, Any]]:
    file = run / "records.jsonl"
    if file.is_file():
        for number, line in json_lines(read_raw(file, _STEP)):
            yield parse_node(line, f"{file}, line {number}", _STEP).value
        return
    for name in sorted(submissions):
        for case in sorted((run / "cases" / name).glob("*.json")):
            yield read_node(case, _STEP).value


def _judged(record: Mapping[str, Any]) -> Judged:
    timing, counters = record.get("timing") or {}, record.get("counters") or {}
    median = finite(timing.get("median_us"))
    estimate = record.get("estimate") or {}
    time = None if median is None else Interval(median, finite(timing.get("low_us")), finite(timing.get("high_us")))
    return Judged(
        verdict=str(record["outcome"]["verdict"]),
        time_us=time,
        warp_instructions=finite(counters.get("warp_instructions")),
        bound=str(estimate.get("bound") or ""),
        problems=frozenset(str(found.get("disease", "")) for found in counters.get("findings", ())),
    )


def _sources(folder: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Texts by path, and the manifest's notes. What students wrote is read with suspicion."""
    texts: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    for file in files_below(folder):
        content = read_plain(file, MOST_BYTES)
        name = file.relative_to(folder).as_posix()
        if name == MANIFEST and content is not None:
            notes = _notes(content)
        elif content is not None and b"\0" not in content:
            texts[plain_line(name)] = plain_text(content.decode("utf-8", "replace"))
    return texts, notes


def _notes(manifest: bytes) -> tuple[str, ...]:
    try:
        found = yaml.safe_load(manifest.decode("utf-8", "replace"))
    except (yaml.YAMLError, RecursionError):
        return ()  # the judge has told what is wrong with it
    given = found.get("note") if isinstance(found, dict) else None
    lines = given if isinstance(given, list) else [given]
    plain = (plain_line(line)[:_LONGEST_NOTE] for line in lines if isinstance(line, str))
    return tuple(line for line in plain if line)


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """A unified difference without its first two lines; a file's name stands before its hunks."""
    lines = []
    for name in sorted({*before, *after}):
        old, new = lines_of(before.get(name, "")), lines_of(after.get(name, ""))
        hunks = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
        if hunks:
            lines.append(name)
            lines.extend(hunks)
    return lines


def _gain(before: Version, after: Version) -> Gain | None:
    """Over the cases that both have right, on GPUs of one model or on the emulator: never across the two."""
    if (before.backend, before.device) != (after.backend, after.device):
        return None
    both = [
        (before.cases[name], case)
        for name, case in after.cases.items()
        if case.verdict == ACCEPTED and name in before.cases and before.cases[name].verdict == ACCEPTED
    ]
    timed = [(old.time_us, new.time_us) for old, new in both if old.time_us and new.time_us]
    if timed:
        return _mean_gain([old.median / new.median for old, new in timed], [_width(*pair) for pair in timed], "time")
    counted = [
        old.warp_instructions / new.warp_instructions
        for old, new in both
        if old.warp_instructions and new.warp_instructions
    ]
    return _mean_gain(counted, [0.0] * len(counted), "instructions") if counted else None


def _width(old: Interval, new: Interval) -> float:
    """Half of the interval of the ratio's logarithm: both times vary, and one does not know of the other."""
    halves = [math.log(t.high / t.low) / 2 for t in (old, new) if t.high and t.low]
    return math.hypot(*halves)


def _mean_gain(ratios: Sequence[float], widths: Sequence[float], of: str) -> Gain:
    mean = sum(map(math.log, ratios)) / len(ratios)
    half = math.hypot(*widths) / len(widths)
    slower = sum(math.log(ratio) < -width for ratio, width in zip(ratios, widths, strict=True))
    return Gain(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(ratios), slower, of)
