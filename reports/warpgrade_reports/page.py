"""Renders a run as one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from warpgrade_reports import (
    analysis,
    charts,
    counters,
    courses,
    profile,
    svg,
)
from warpgrade_reports import format as fmt
from warpgrade_reports.attempts import attempts_climb
from warpgrade_reports.feedback import NOT_MADE, scrolling_tables
from warpgrade_reports.figures import figures_of, points_figure
from warpgrade_reports.grouping import Group, groups_of
from warpgrade_reports.inject import inject
from warpgrade_reports.ladder import climb_of
from warpgrade_reports.ladder_view import draw_climb
from warpgrade_reports.learnt import learnt_of
from warpgrade_reports.model import CaseResult, CaseSpec, Diagnostic, Run, Submission
from warpgrade_reports.overrides import points_remark
from warpgrade_reports.source import finite
from warpgrade_reports.text import lines_of, plain_line
from warpgrade_reports.verdicts import STYLES, THRESHOLD_LABELS, VerdictStyle, style_of

_NEVER_RAN = frozenset({"compile_error", "cheating", "not_run", "judge_fault"})
_TEMPLATES = Path(__file__).parent / "templates"
_LATE_PLAN_RUNS = 100  # a plan that pays later is told
_ONE_TABLE = 400  # students; a larger class has its table on pages by name, and the index opens on a phone
_OF_A_PART = 100  # students on such a page
_WIDE_K = 1000  # from here on a width does not fit across a cell of the matrix


def render_pages(
    run: Run, *, appeal: bool = False, launches: Run | None = None, troubles: list[str] | None = None
) -> dict[str, str]:
    """The pages by their paths: index.html, and of a class a page a submission beside it.

    `appeal` adds raw samples and clocks and opens the evidence; `launches`: see climb_of. Whose page could not be
    made is added to `troubles` with the reason; the others do not depend on it.
    """
    pages = Pages(run, appeal=appeal)
    made = {"index.html": pages.index(launches)}
    for part in range(len(pages.parts)):
        name, text = pages.part(part)
        made[name] = text
    for place in range(pages.apart):
        name, text, trouble = pages.submission(place, contained=troubles is not None)
        made[name] = text
        if trouble and troubles is not None:
            troubles.append(trouble)
    return made


@dataclass(frozen=True)
class ClassPart:
    """Students of a large class whose names follow each other, with a page of their own."""

    path: str
    submissions: tuple[Submission, ...]

    @property
    def first(self) -> str:
        """The first name."""
        return self.submissions[0].title

    @property
    def last(self) -> str:
        """The last name."""
        return self.submissions[-1].title


def _parts_of_class(run: Run) -> list[ClassPart]:
    if len(run.students) <= _ONE_TABLE:
        return []
    named = sorted(run.students, key=lambda s: (s.title.casefold(), s.id))
    starts = range(0, len(named), _OF_A_PART)
    return [
        ClassPart(f"class/{number}.html", tuple(named[start : start + _OF_A_PART]))
        for number, start in enumerate(starts, start=1)
    ]


class Pages:
    """A run's pages, each made when it is asked for: all of a large class together would fill the memory."""

    def __init__(self, run: Run, *, appeal: bool = False) -> None:
        self._run = run
        self._anchors = anchors_of(run)
        self._order = _reading_order(run)
        self._wholes = [counters.largest(run, metric) for metric in counters.METRICS]
        self._environment = _environment(run, appeal=appeal)
        self.parts = _parts_of_class(run)
        """Of a large class: the pages that hold its table."""
        self._ranks = {ranked.submission.id: ranked.rank for ranked in analysis.ranking(run.students)}
        self.apart = len(self._order) if run.students else 0
        """How many submissions have a page of their own; of none the index has all."""
        self._environment.globals["link"] = lambda anchor: f"submissions/{anchor}.html" if self.apart else f"#{anchor}"

    def index(self, launches: Run | None) -> str:
        """index.html."""
        run = self._run
        views = [] if self.apart else [_view(s, run, self._anchors[s.id], self._wholes) for s in self._order]
        return _render_index(self._environment, run, self._anchors, views, launches, self.parts)

    def part(self, place: int) -> tuple[str, str]:
        """The path and the text of one part of a large class, best first."""
        run, part = self._run, self.parts[place]
        rows = sorted(part.submissions, key=lambda s: self._ranks[s.id])
        text = self._environment.get_template("class_part.html.j2").render(
            part=part,
            before=self.parts[place - 1] if place else None,
            after=self.parts[place + 1] if place + 1 < len(self.parts) else None,
            link=lambda anchor: f"../submissions/{anchor}.html",
            style=_asset("style.css"),
            script=_asset("sort.js"),
            class_rows=[_row(s, run, self._anchors, self._ranks[s.id]) for s in rows],
            class_note=_class_note(run),
            legend=_legend(rows),
            matrix=_matrix(run, rows, self._anchors),
            counter_rows=[_counter_row(s, run, self._anchors) for s in rows] if run.on_emulator else [],
        )
        return part.path, scrolling_tables(text)

    def submission(self, place: int, *, contained: bool) -> tuple[str, str, str]:
        """The path and the text of a page of its own, and why it could not be made; else empty."""
        submission = self._order[place]
        name = f"submissions/{self._anchors[submission.id]}.html"
        try:
            return name, scrolling_tables(self._submission_text(place)), ""
        except Exception as error:
            if not contained:
                raise
            trouble = f"{submission.id} ({type(error).__name__}: {plain_line(str(error))})"
            return name, scrolling_tables(NOT_MADE), trouble

    def _submission_text(self, place: int) -> str:
        submission = self._order[place]
        inject("page", submission.id)
        view = _view(submission, self._run, self._anchors[submission.id], self._wholes)
        template = self._environment.get_template("submission_page.html.j2")
        return template.render(
            view=view, before=self._link(place - 1), after=self._link(place + 1), style=_asset("style.css")
        )

    def _link(self, place: int) -> dict[str, Any] | None:
        if not 0 <= place < len(self._order):
            return None
        submission = self._order[place]
        return {"submission": submission, "anchor": self._anchors[submission.id]}


def _asset(name: str) -> Markup:
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _environment(run: Run, *, appeal: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        run=run,
        fmt=fmt,
        style_of=style_of,
        tail=tail,
        samples=samples,
        appeal=appeal,
        threshold_labels=THRESHOLD_LABELS,
        over_floor=analysis.time_over_floor,
        counter_metrics=counters.METRICS,
        has_naive=counters.naive_of(run) is not None,
        other_baselines=analysis.baselines(run)[1:],
        speed_reason=speed_reason(run),
        groups=speed_groups(run),
        late_plan_runs=_LATE_PLAN_RUNS,
        points_remark=points_remark,
    )
    return environment


def _render_index(
    environment: jinja2.Environment,
    run: Run,
    anchors: Mapping[str, str],
    views: Sequence[Mapping[str, Any]],
    launches: Run | None,
    parts: Sequence[ClassPart],
) -> str:
    journey, learnt = climb_of(run, launches), learnt_of(run)
    ranked = [] if parts else analysis.ranking(run.students)
    shown = [*(r.submission for r in ranked), *run.staff]
    text = environment.get_template("page.html.j2").render(
        style=_asset("style.css"),
        script=_asset("sort.js"),
        facts=list(_facts(run)),
        notices=list(_notices(run)),
        tiles=_tiles(run),
        contents=[
            *([("learnt", "What was learnt")] if learnt else []),
            *_contents(run, has_journey=journey is not None),
        ],
        learnt=learnt,
        class_parts=parts,
        names=[(s.title, f"submissions/{anchors[s.id]}.html") for part in parts for s in part.submissions],
        names_script=_asset("names.js"),
        class_rows=[_row(r.submission, run, anchors, r.rank) for r in ranked],
        staff_rows=[_row(s, run, anchors) for s in run.staff],
        class_note=_class_note(run),
        points=points_figure(run),
        legend=_legend(run.submissions),
        matrix=_matrix(run, shown, anchors),
        courses=Markup(courses.html_table(courses.lines_of(run))),  # noqa: S704 - courses.py escapes every text
        figures=figures_of(run, as_files=bool(parts)),
        counter_rows=[_counter_row(s, run, anchors) for s in (run.staff if parts else (*run.students, *run.staff))]
        if run.on_emulator
        else [],
        journey=Markup(draw_climb(journey)) if journey else "",  # noqa: S704 - ladder_view.py escapes every text
        cases=[_case_line(run, spec) for spec in run.cases],
        submissions=views,
    )
    return scrolling_tables(text)


def anchors_of(run: Run) -> dict[str, str]:
    """The id of each submission's section: plain letters and unique whatever the submission is called."""
    anchors = {}
    for index, submission in enumerate(run.submissions, start=1):
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in submission.id).strip("-")
        anchors[submission.id] = f"submission-{index}-{plain}".rstrip("-")
    return anchors


def _reading_order(run: Run) -> list[Submission]:
    return [ranked.submission for ranked in analysis.ranking(run.students)] + list(run.staff)


def speed_reason(run: Run) -> str:
    """Why there are no times, or nothing when there are."""
    if run.speed_measured:
        return ""
    if run.on_emulator:
        return "speed was not measured: the emulator counts instructions, it has no time"
    return "speed was not measured: this run judged correctness only"


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    device = str(run.device.get("name", "unknown"))
    if isinstance(run.device.get("driver"), str):
        device += f", driver {run.device['driver']}"
    compiler = " ".join(str(run.toolchain[key]) for key in ("nvcc", "arch") if key in run.toolchain)
    facts = (
        ("made", run.created_at),
        ("backend", run.backend),
        ("device", device),
        ("sandbox", run.sandbox),
        ("nvcc", compiler),
        ("policy", run.policy_name),
        ("harness", f"{run.harness_version} {run.harness_hash[:12]}".strip()),
    )
    yield from ((name, value) for name, value in facts if value)


@dataclass(frozen=True)
class Notice:
    """Something that a reader must know before the numbers."""

    kind: str
    title: str
    text: str


def _notices(run: Run) -> Iterator[Notice]:
    if not run.speed_measured:
        reason = speed_reason(run)
        more = " The page shows counters in place of times." if run.on_emulator else ""
        yield Notice("", "No times.", reason[0].upper() + reason[1:] + "." + more)
    if run.thresholds_note:
        yield Notice("", "Thresholds of another GPU.", run.thresholds_note)
    if run.threshold_nodes:
        yield Notice(
            "", "Nodes.", f"Times of these nodes decided on thresholds (cases of each): {run.threshold_nodes}."
        )
    if run.points_note:
        yield Notice("", "Points.", run.points_note)
    if run.sandbox == "unsandboxed":
        yield Notice("", "Unsandboxed.", "Submissions ran without bubblewrap: do not grade strangers' code like this.")
    cases = [c for s in run.submissions for c in s.cases]
    verdicts = analysis.verdict_counts(c for c in cases if c.undecided)
    for verdict, title in (("judge_fault", "Faults of the judge"), ("not_run", "Not run")):
        if verdicts[verdict]:
            yield Notice(
                "judge",
                f"{title}: {verdicts[verdict]}.",
                "These cases are nobody's zero; grade with the same command again and only they are judged.",
            )
    if left_out := sum(c.left_out for c in cases):
        yield Notice(
            "",
            f"Left out: {left_out}.",
            "An older interface does not cover these cases: they are not judged for its submissions, which lose no "
            "points for them.",
        )
    if run.skipped:
        yield Notice("", f"Cases skipped: {len(run.skipped)}.", "Their datasets are not on this machine; see Cases.")
    if run.unsealed_records:
        yield Notice(
            "",
            f"Records without a checksum: {run.unsealed_records}.",
            "Whether they were changed after they were written cannot be told.",
        )


@dataclass(frozen=True)
class Tile:
    """One number of the summary."""

    value: str
    label: str
    kind: str = ""


def _tiles(run: Run) -> list[Tile]:
    results = [case for s in run.students or run.submissions for case in s.cases]
    undecided = sum(case.undecided for case in results)
    judged = sum(not case.left_out for case in results)
    who = run.students or run.submissions
    correct = sum(s.correct_cases == s.total_cases for s in who)
    tiles = [
        Tile(str(len(who)), "submissions" if run.students else "references"),
        Tile(str(len(run.cases)), f"cases, {len(run.speed_cases)} for speed"),
        Tile(f"{sum(case.accepted for case in results)}/{judged}", "verdicts are accepted", "ok"),
        Tile(str(correct), "correct in every case", "ok"),
    ]
    if run.speed_measured:
        over, of = sum(s.over_threshold for s in who), sum(s.threshold_cases for s in who)
        tiles.append(Tile(f"{over}/{of}", "speed cases over their threshold"))
    if undecided:
        tiles.append(Tile(str(undecided), "not judged, nobody's zero", "judge"))
    return tiles


def _contents(run: Run, *, has_journey: bool) -> list[tuple[str, str]]:
    entries = [("class", "Class"), ("matrix", "Correctness")]
    if run.speed_measured:
        entries += [("speed", "Speed-up"), ("throughput", "Throughput"), ("floor", "Floor")]
    if run.speed_measured and run.limits:
        entries.append(("roofline", "Roofline"))
    if has_journey:
        entries.append(("journey", "Climb"))
    if run.on_emulator:
        entries.append(("counters", "Counters"))
    if not run.students:
        return [*entries, ("cases", "Cases"), ("submissions", "Submissions"), ("reading", "How to read")]
    return [*entries, ("cases", "Cases"), ("reading", "How to read")]


def speed_groups(run: Run) -> list[Group]:
    """The groups of cases that have a column each."""
    return groups_of(run, run.speed_cases)


def _row(submission: Submission, run: Run, anchors: Mapping[str, str], rank: int | None = None) -> dict[str, Any]:
    return {
        "submission": submission,
        "anchor": anchors[submission.id],
        "rank": rank,
        "speedups": [analysis.mean_speedup(submission, group.specs) for group in speed_groups(run)],
        "throughputs": [analysis.mean_throughput(submission, group.specs) for group in speed_groups(run)],
        "work": counters.mean_work_over_naive(submission, counters.naive_of(run)),
    }


def _class_note(run: Run) -> str:
    if run.speed_measured:
        return (
            f"Speed-up: geometric mean over {charts.graded_baseline(run)}; throughput: arithmetic mean. Small figures: "
            "cases measured of cases for speed."
        )
    note = speed_reason(run)
    if counters.naive_of(run):
        note += "; instructions over naive: geometric mean over the accepted cases (small figure), fewer is less work"
    return note[0].upper() + note[1:] + "."


def _legend(submissions: Iterable[Submission]) -> list[tuple[VerdictStyle, int]]:
    counts = analysis.verdict_counts(c for s in submissions for c in s.cases)
    names = [*(name for name in STYLES if counts[name]), *sorted(name for name in counts if name not in STYLES)]
    return [(style_of(name), counts[name]) for name in names]


def _matrix(run: Run, submissions: Iterable[Submission], anchors: Mapping[str, str]) -> dict[str, Any]:
    datasets: list[list[Any]] = []
    for spec in run.cases:
        if datasets and datasets[-1][0] == spec.dataset:
            datasets[-1][1] += 1
        else:
            datasets.append([spec.dataset, 1])
    rows = [
        {
            "title": s.title,
            "anchor": anchors[s.id],
            "cells": [{"case": c.spec.id, "style": style_of(c.verdict)} for c in s.cases],
        }
        for s in submissions
    ]
    return {
        "datasets": datasets,
        "ks": [spec.width if run.width else "" for spec in run.cases],
        "upright": max((spec.width for spec in run.cases), default=0) < _WIDE_K,
        "rows": rows,
    }


def _counter_row(submission: Submission, run: Run, anchors: Mapping[str, str]) -> dict[str, Any]:
    return {
        "submission": submission,
        "anchor": anchors[submission.id],
        "work": counters.mean_work_over_naive(submission, counters.naive_of(run)),
        "metrics": [counters.pooled(metric, submission) for metric in counters.METRICS],
    }


def _case_line(run: Run, spec: CaseSpec) -> dict[str, Any]:
    results = [s.by_case[spec.id] for s in run.submissions]
    return {
        "spec": spec,
        "threshold": charts.chart_threshold(run, spec),
        "accepted": sum(r.accepted for r in results),
        "judged": sum(not r.undecided for r in results),
    }


def _view(submission: Submission, run: Run, anchor: str, wholes: Sequence[float | None]) -> dict[str, Any]:
    naive = counters.naive_of(run)
    drawn = charts.submission_charts(submission, run)
    return {
        "submission": submission,
        "anchor": anchor,
        "speedups": [analysis.mean_speedup(submission, group.specs) for group in speed_groups(run)],
        "failures": analysis.failures(submission),
        "never_ran": all(case.verdict in _NEVER_RAN and case.repetitions is None for case in submission.cases),
        "findings": _findings(submission),
        "attempts": Markup(draw_climb(journey)) if (journey := attempts_climb(submission, run)) else "",  # noqa: S704
        "figures": [Markup(svg.draw(chart)) for chart in drawn],  # noqa: S704 - svg.py escapes every text
        "counted": [
            {"case": case, "work": counters.work_over_naive(case, naive), **_bars(case, wholes)}
            for case in submission.cases
        ],
        "kernels": list(_kernel_lines(submission)) if run.on_emulator else [],
        "estimates": [(case.spec.id, lines_of(case.estimate)) for case in submission.cases if case.estimate],
        "problems": profile.findings_of(submission),
        "plans_hold": any(case.plan_device_bytes for case in submission.cases),
        "late_plans": [case.spec.id for case in submission.cases if _is_late(case)],
        "profile": profile.profile_of(submission),
    }


def _is_late(case: CaseResult) -> bool:
    """Whether the plan costs more than what many runs save."""
    runs = case.timing.break_even_runs if case.timing else None
    return runs is not None and runs > _LATE_PLAN_RUNS


def _bars(case: CaseResult, wholes: Sequence[float | None]) -> dict[str, Any]:
    """A case's counters, and how much of a full bar each is."""
    values = [counters.measure(metric, case) for metric in counters.METRICS]
    shares = [
        value / whole if value is not None and whole else None for value, whole in zip(values, wholes, strict=True)
    ]
    return {"metrics": values, "shares": shares}


def _findings(submission: Submission) -> list[tuple[str, Diagnostic]]:
    """The emulator's findings in cases that were accepted all the same, each mistake once."""
    found: dict[tuple[str, str], tuple[str, Diagnostic]] = {}
    for case in submission.cases:
        if case.accepted:
            for diagnostic in case.diagnostics:
                found.setdefault((diagnostic.kind, diagnostic.place), (case.spec.id, diagnostic))
    return list(found.values())


def _kernel_lines(submission: Submission) -> Iterator[dict[str, Any]]:
    for case in submission.cases:
        kernels = case.counters.get("kernels") if case.counters else None
        for kernel in kernels if isinstance(kernels, list) else []:
            if isinstance(kernel, dict):
                yield {
                    "case": case.spec.id,
                    "kernel": str(kernel.get("kernel", "")),
                    "launches": finite(kernel.get("launches")),
                    "imbalance": finite(kernel.get("block_imbalance")),
                    "metrics": [metric.of(kernel) for metric in counters.METRICS],
                }


def tail(text: str, letters: int) -> str:
    """The end of a long text: compilers and programs say last what stopped them."""
    text = text.rstrip()
    return text if len(text) <= letters else "… (the whole text is in the run folder)\n" + text[-letters:]


# Of records that were made before the executor, the latter.
_BY_BASELINE = ("baseline_us", "baseline_event_us")


def samples(case: CaseResult) -> Iterator[tuple[str, str]]:
    """The dataset's hash, the raw samples and the clocks of a case, a series a line."""
    if case.dataset_hash:
        yield "dataset", case.dataset_hash
    if case.timing is None:
        return
    for name, series in case.timing.samples.items():
        if isinstance(series, list):
            yield name, _numbers(series)
        elif name in _BY_BASELINE and isinstance(series, dict):
            yield from (
                (f"{name}, {baseline}", _numbers(values))
                for baseline, values in series.items()
                if isinstance(values, list)
            )
        elif isinstance(series, dict):
            yield name, "; ".join(f"{key}: {value}" for key, value in series.items())


def _numbers(series: list[Any]) -> str:
    return " ".join("–" if (value := finite(item)) is None else f"{value:.2f}" for item in series)
