"""A student's way to the result: versions in the order in which they were handed in, what changed, and what it gained.

What versions there are, their notes and their gains are counted by the grader (`warpgrade journey --json`, schema
warpgrade.journeys.v1), as for points. Sources (snapshots) and records of the cases are read here, to show them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.counters import totals_of
from warpgrade_reports.gpu_counters import GpuCounters, read_gpu_counters
from warpgrade_reports.limit_reading import read_limit
from warpgrade_reports.model import ACCEPTED, Interval, Limit
from warpgrade_reports.source import Node, finite, parse_node, read_node, read_raw
from warpgrade_reports.text import json_lines, lines_of, plain_line, plain_text, problem_of
from warpgrade_reports.untrusted import files_below, read_plain

MANIFEST = "submission.yaml"
MOST_BYTES = 1 << 20  # of one source
MOST_LINES = 300  # of a difference that is shown
_STEP = "make it with `warpgrade journey`"
_CLAIM = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?:x\b|×|times\b)")
_COUNTED = ("warp_instructions", "bound", "problems", "counters")  # of Judged, the emulator's
_PERCENT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*%\s*(?:faster|less|quicker)")


@dataclass(frozen=True)
class Judged:
    """One case of a version. Without a GPU there is no time; warp instructions are what the emulator counts."""

    verdict: str
    time_us: Interval | None = None
    warp_instructions: float | None = None
    bound: str = ""  # what its time on a GPU would depend on, by the estimate
    problems: frozenset[str] = frozenset()  # what makes it slow, by the emulator's counters
    counters: Mapping[str, Any] = field(default_factory=dict)  # the emulator's totals
    limit: Limit | None = None  # of a time on a GPU: the least that the GPU allows

    @property
    def accepted(self) -> bool:
        """Whether it is right."""
        return self.verdict == ACCEPTED

    def and_also(self, other: Judged) -> Judged:
        """Of one case in two runs: what this one lacks, for instance counters beside a GPU's times, is the other's."""
        if not self.accepted or not other.accepted:
            return self
        return replace(
            self,
            time_us=self.time_us or other.time_us,
            limit=self.limit or other.limit,
            **({} if self.counters else {name: getattr(other, name) for name in _COUNTED}),
        )


@dataclass(frozen=True)
class Gain:
    """How many times as fast (or as sparing of instructions) as the version before, over the cases of both."""

    factor: float
    low: float
    high: float
    cases: int
    slower: int  # of these, beyond noise
    of: str  # "time" or "instructions"
    certain: bool  # beyond noise


@dataclass(frozen=True)
class Version:
    """One state of the program."""

    number: int
    run: str
    at: str  # UTC, as the run wrote it
    sources: Mapping[str, str]  # text by path, without the manifest
    notes: tuple[str, ...]
    cases: Mapping[str, Judged]
    on_gpu: Sequence[GpuCounters] = ()

    @property
    def correct(self) -> int:
        """How many cases were accepted."""
        return sum(case.accepted for case in self.cases.values())

    @property
    def is_limited(self) -> bool:
        """Whether it is known what the GPU allows."""
        return any(case.limit for case in self.cases.values())

    @property
    def share(self) -> float | None:
        """Of what the GPU allows: the geometric mean over the cases that were timed."""
        return geometric_mean(case.limit.share for case in self.cases.values() if case.limit and case.limit.share)

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
    before: Version | None = None

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
    """All versions of one student in one lab, and what was counted of them."""

    student: str
    lab: str
    steps: Sequence[Step]
    gains: int  # versions that are faster than the one before, beyond noise
    notes: int  # versions with a note
    arrived_whole: bool  # in one version that is right: listed for staff, never judged

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


def read_work_logs(file: Path) -> list[WorkLog]:
    """Everybody's, as `warpgrade journey` counted them."""
    root = read_node(file, _STEP)
    root.require_schema("warpgrade.journeys.v1")
    records = _Records()
    logs = []
    for node in root.children("students", required=True):
        counts = node.child("counts")
        logs.append(
            WorkLog(
                student=node.text("student"),
                lab=root.text("lab"),
                steps=tuple(_steps(node, records)),
                gains=counts.required_integer("gains"),
                notes=counts.required_integer("notes"),
                arrived_whole=bool(counts.flag("arrived_whole")),
            )
        )
    return logs


def _steps(student: Node, records: _Records) -> Iterator[Step]:
    before: Version | None = None
    for number, node in enumerate(student.children("versions", required=True), 1):
        judged = list(node.children("judged"))
        run = Path(judged[0].text("run")) if judged else Path()
        version = Version(
            number=number,
            run=run.name if run.name != "run" else run.parent.name,
            at=node.optional_text("at"),
            sources=_sources(Path(node.text("snapshot"))),
            notes=tuple(str(note) for note in node.value.get("notes", ())),
            cases=_cases(judged, records),
            on_gpu=read_gpu_counters([Path(file) for file in node.value.get("counted", ())]),
        )
        lines = _difference(before.sources, version.sources) if before else []
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        yield Step(version, added, removed, tuple(lines), _gain(node.optional_child("gain")), before)
        before = version


def _cases(judged: Sequence[Node], records: _Records) -> dict[str, Judged]:
    """Of all runs that judged the version; the fullest comes first, and what others know as well is added."""
    cases: dict[str, Judged] = {}
    for node in judged:
        limits = node.optional_child("limits")
        for name, found in records.of(Path(node.text("run")), node.text("submission")).items():
            own = replace(found, limit=read_limit(limits.optional_child(name) if limits else None))
            cases[name] = cases[name].and_also(own) if name in cases else own
    return cases


def _gain(node: Node | None) -> Gain | None:
    if node is None:
        return None
    return Gain(
        factor=node.required_number("factor"),
        low=node.required_number("low"),
        high=node.required_number("high"),
        cases=node.required_integer("cases"),
        slower=node.required_integer("slower"),
        of=node.text("of"),
        certain=bool(node.flag("certain")),
    )


class _Records:
    """The cases of submissions; a run's file of all records is read once."""

    def __init__(self) -> None:
        self._collected: dict[Path, dict[str, dict[str, Judged]]] = {}

    def of(self, run: Path, submission: str) -> dict[str, Judged]:
        """By case."""
        own = sorted((run / "cases" / submission).glob("*.json"))
        if own:
            return dict(_judged(read_node(case, _STEP).value) for case in own)
        if run not in self._collected:
            self._collected[run] = _collected(run / "records.jsonl")
        return self._collected[run].get(submission, {})


def _collected(file: Path) -> dict[str, dict[str, Judged]]:
    found: dict[str, dict[str, Judged]] = {}
    for number, line in json_lines(read_raw(file, _STEP)) if file.is_file() else ():
        record = parse_node(line, f"{file}, line {number}", _STEP).value
        case, judged = _judged(record)
        found.setdefault(record["submission"]["id"], {})[case] = judged
    return found


def _judged(record: Mapping[str, Any]) -> tuple[str, Judged]:
    timing, counters = record.get("timing") or {}, record.get("counters") or {}
    median = finite(timing.get("median_us"))
    estimate = record.get("estimate") or {}
    time = None if median is None else Interval(median, finite(timing.get("low_us")), finite(timing.get("high_us")))
    return record["case"]["id"], Judged(
        verdict=str(record["outcome"]["verdict"]),
        time_us=time,
        warp_instructions=finite(counters.get("warp_instructions")),
        bound=str(estimate.get("bound") or ""),
        counters=totals_of([counters]),
        problems=frozenset(problem_of(found) for found in counters.get("findings", ())),
    )


def _sources(folder: Path) -> dict[str, str]:
    """Texts by path, without the manifest. What students wrote is read with suspicion."""
    texts: dict[str, str] = {}
    for file in files_below(folder):
        name = file.relative_to(folder).as_posix()
        content = read_plain(file, MOST_BYTES)
        if name != MANIFEST and content is not None and b"\0" not in content:
            texts[plain_line(name)] = plain_text(content.decode("utf-8", "replace"))
    return texts


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
