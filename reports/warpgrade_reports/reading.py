"""Reads a run folder into the model and refuses what does not hold together."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from warpgrade_reports.checksum import Seal, seal_of, sealed_by
from warpgrade_reports.limit_reading import read_limit, read_limits
from warpgrade_reports.model import (
    CaseResult,
    CaseScore,
    CaseSpec,
    Compilation,
    Diagnostic,
    Floor,
    Interval,
    Kernel,
    Mismatch,
    Run,
    SkippedCase,
    Submission,
    Timing,
)
from warpgrade_reports.samples import has_no_samples, without_samples
from warpgrade_reports.source import (
    Node,
    ReportInputError,
    finite,
    parse_node,
    raw_lines,
    read_node,
    read_text,
)


def read_run(folder: Path, *, samples: bool = True, brief: bool = False) -> Run:
    """The run in `folder`; raises ReportInputError when it cannot be shown faithfully.

    Of a large class the raw samples are nearly all of the records; few readers want them. `brief`: what is said of a
    class, without what a page of one submission shows beyond it.
    """
    collects = gc.isenabled()
    gc.disable()  # what is read lives to the end and has no cycles: to look for some took a fifth of the time
    try:
        return _read_run(folder, samples=samples, brief=brief)
    finally:
        if collects:
            gc.enable()


def _read_run(folder: Path, *, samples: bool, brief: bool) -> Run:
    if not folder.is_dir():
        raise ReportInputError(str(folder), "expected a run folder, got nothing there", "name a folder under runs/")
    if not (folder / "run.json").is_file():
        raise ReportInputError(
            str(folder), "expected run.json in it, got no such file", "name a folder that `warpgrade grade` made"
        )
    again = f"run `warpgrade score {folder}`, which makes records.jsonl and scores.json anew"
    run = read_node(folder / "run.json", "grade into a new folder")
    run.require_schema("warpgrade.run.v1")
    scores = read_node(folder / "scores.json", again)
    scores.require_schema("warpgrade.scores.v1")

    scored = {node.text("id"): node for node in scores.children("submissions", required=True)}
    for node in run.children("submissions", required=True):
        name = node.text("id")
        if not name or name in {".", ".."} or "/" in name:
            raise node.error(f'expected an id that can name a folder, got "{name}"')
        if name not in scored:
            raise scores.error(f'expected a score of submission "{name}", got none')
    reader = _Records(run, scored, samples=samples, brief=brief)
    reader.read(folder / "records.jsonl", again)
    submissions = [
        _submission(folder, node, scored[node.text("id")], reader)
        for node in run.children("submissions", required=True)
    ]
    return _run(run, scores, reader.sized, submissions, reader.unsealed)


def _run(run: Node, scores: Node, specs: dict[str, CaseSpec], submissions: list[Submission], unsealed: int) -> Run:
    harness = run.optional_child("harness")
    return Run(
        id=run.text("run"),
        lab=run.text("lab"),
        backend=run.text("backend"),
        created_at=run.optional_text("created_at"),
        sandbox=run.optional_text("sandbox"),
        harness_version=harness.optional_text("version") if harness else "",
        harness_hash=harness.optional_text("hash") if harness else "",
        toolchain=_mapping(run, "toolchain"),
        device=_mapping(run, "device"),
        policy_name=scores.optional_text("policy_name") or run.optional_text("policy_name"),
        policy_hash=scores.optional_text("policy_hash"),
        max_points=scores.required_number("max_points"),
        speed_measured=_speed_measured(run, specs, submissions),
        cases=tuple(specs.values()),
        skipped=tuple(SkippedCase(n.text("case"), n.optional_text("why")) for n in run.children("skipped_cases")),
        submissions=tuple(submissions),
        unsealed_records=unsealed,
        thresholds_note=scores.optional_text("thresholds_note"),
        threshold_nodes=scores.optional_text("threshold_nodes"),
        limits=read_limits(scores.optional_child("limits")),
        **_terms(run),
    )


def _terms(run: Node) -> dict[str, str]:
    """The lab's words, where the run says them; spmm's first runs did not."""
    terms = run.optional_child("terms")
    unsaid = {"width": "K", "work": "nnz", "output": "c"} if run.optional_text("lab") == "spmm" else {}
    if terms is None:
        return unsaid
    width = terms.optional_text("width")
    return {
        "width": "" if width == "set" else width,  # what histogram's first runs called the width that it has not
        "work": terms.text("work"),
        "output": terms.optional_text("output") or unsaid.get("output", "output"),
        "ladder": terms.optional_text("ladder"),
    }


def _throughput(record: Node) -> float | None:
    """Work a second; SpMM's records name theirs."""
    rate = record.number("throughput_per_s")
    return rate if rate is not None else record.number("throughput_nnz_per_s")


def _speed_measured(run: Node, specs: dict[str, CaseSpec], submissions: list[Submission]) -> bool:
    """Whether times were asked for, and of any case."""
    asked = run.flag("speed_measured")
    if asked is None:
        asked = any(s.speed_measured for s in submissions)
    return asked and any(spec.is_speed for spec in specs.values())


def _mapping(node: Node, key: str) -> dict[str, Any]:
    child = node.optional_child(key)
    return dict(child.value) if child else {}


class _Records:
    """The case records, read one after another: of each what a report shows is kept, and its text is not."""

    def __init__(self, run: Node, scored: dict[str, Node], *, samples: bool, brief: bool) -> None:
        self._samples = samples
        self._result = _brief_result if brief else _case_result
        self._specs = {spec.id: spec for spec in map(_case_spec, run.children("cases", required=True))}
        self._scores = {node.text("id"): _case_scores(scored[node.text("id")]) for node in run.children("submissions")}
        self._sizes: dict[str, Node] = {}
        self._results: dict[tuple[str, str], CaseResult] = {}
        self._devices: dict[str, dict[str, Any]] = {}
        self.unsealed = 0  # records without a checksum
        self.sized = dict(self._specs)  # the cases, with the sizes that the judge recorded

    def read(self, path: Path, next_step: str) -> None:
        """All records of the file."""
        for number, line in raw_lines(path, next_step):
            node, seal = self._parsed(line, f"{path}, line {number}", next_step)
            if seal is Seal.BROKEN:
                raise node.error(
                    "expected the checksum of what it says, got another: it was changed after it was written"
                )
            self.unsealed += seal is Seal.ABSENT
            self._add(node, path.name)
        self.sized = {
            name: _with_sizes(spec, self._sizes[name]) if name in self._sizes else spec
            for name, spec in self._specs.items()
        }

    def _parsed(self, line: bytes, place: str, next_step: str) -> tuple[Node, Seal]:
        """The record and what its checksum says. Samples that nobody wants stay text, if the checksum covers them."""
        sealed = None if self._samples else sealed_by(line)
        if sealed and (short := without_samples(line)):
            node = parse_node(short, place, next_step)
            if node.value.get("checksum") == sealed and has_no_samples(node.value):
                node.require_schema("warpgrade.case.v1")
                return node, Seal.WHOLE
        node = parse_node(line, place, next_step)
        node.require_schema("warpgrade.case.v1")
        return node, seal_of(line, node.value)

    def _add(self, node: Node, file: str) -> None:
        key = (node.child("submission").text("id"), node.child("case").text("id"))
        name, case = key
        if key in self._results:
            raise node.error(f"expected one record of {name} on {case}, got a second one")
        if name not in self._scores or case not in self._specs:
            raise ReportInputError(
                node.place,
                f"expected a submission and a case of run.json, got {name} on {case}",
                f"{node.next_step} ({file} belongs to another run)",
            )
        described = node.child("case")
        if described.number("rows") is not None or case not in self._sizes:
            self._sizes[case] = described
        if not self._samples and isinstance(timing := node.value.get("timing"), dict):
            timing.pop("samples", None)
        told = repr(node.value.get("device"))  # written by a judge of ours: its keys are in order
        device = self._devices.get(told)
        if device is None:
            device = self._devices[told] = _mapping(node, "device")
        self._results[key] = self._result(self._specs[case], _case_score(self._score(node, key)), node, device)

    def _score(self, node: Node, key: tuple[str, str]) -> Node:
        name, case = key
        if case not in self._scores[name]:
            raise node.error(f'expected a score of submission "{name}" on case "{case}" in scores.json, got none')
        return self._scores[name][case]

    def of(self, name: str, scored: Node) -> tuple[CaseResult, ...]:
        """The submission's results in the run's order of cases; those without a record too."""
        results = []
        for spec in self.sized.values():
            if spec.id not in self._scores[name]:
                raise scored.error(f'expected a score of case "{spec.id}", got none')
            result = self._results.pop((name, spec.id), None)
            if result is None:
                result = _without_record(spec, _case_score(self._scores[name][spec.id]))
            else:
                object.__setattr__(result, "spec", spec)  # nobody has it yet, and replace() took an eighth of reading
            results.append(result)
        return tuple(results)


def _case_scores(scored: Node) -> dict[str, Node]:
    return {line.text("id"): line for line in scored.children("cases", required=True)}


def _case_spec(node: Node) -> CaseSpec:
    return CaseSpec(
        id=node.text("id"),
        dataset=node.text("dataset"),
        width=node.required_integer("k" if "k" in node.value else "width"),  # "k" of older records
        kind=node.text("kind"),
        dataset_kind=node.optional_text("dataset_kind"),
    )


def _with_sizes(spec: CaseSpec, node: Node) -> CaseSpec:
    shape = node.optional_child("shape")
    return dataclasses.replace(
        spec,
        dataset_kind=node.optional_text("dataset_kind") or spec.dataset_kind,
        rows=node.integer("rows"),
        cols=node.integer("cols"),
        nnz=node.integer("nnz"),
        max_row=shape.number("max_row") if shape else None,
        mean_row=shape.number("mean_row") if shape else None,
        empty_rows=shape.number("empty_rows") if shape else None,
    )


def _submission(folder: Path, node: Node, scored: Node, records: _Records) -> Submission:
    name = node.text("id")
    results = records.of(name, scored)
    return Submission(
        id=name,
        title=node.optional_text("title") or name,
        role=node.optional_text("role") or "student",
        interface=node.optional_text("interface"),
        language=node.optional_text("language") or "CUDA",
        hash=node.optional_text("hash"),
        compilation=_compilation(folder / "submissions" / name),
        verdict=scored.text("verdict"),
        points=scored.required_number("points"),
        max_points=scored.required_number("max_points"),
        correct_cases=scored.required_integer("correct_cases"),
        total_cases=scored.required_integer("total_cases"),
        undecided_cases=scored.integer("undecided_cases") or sum(r.undecided for r in results),
        over_threshold=scored.required_integer("over_threshold"),
        threshold_cases=scored.required_integer("threshold_cases"),
        speed_measured=bool(scored.flag("speed_measured")),
        cases=results,
        idea=node.optional_text("idea"),
        counts=scored.flag("counts") is not False,
        student=node.optional_text("student"),
        attempt=node.integer("attempt"),
        submitted_at=node.optional_text("submitted_at"),
    )


def _interval(node: Node | None, median: str = "median", low: str = "low", high: str = "high") -> Interval | None:
    if node is None:
        return None
    middle = node.number(median)
    return None if middle is None else Interval(middle, node.number(low), node.number(high))


def _case_score(node: Node) -> CaseScore:
    return CaseScore(
        verdict=node.text("verdict"),
        points=node.number("points"),
        max_points=node.number("max_points"),
        threshold=node.number("threshold"),
        baseline=node.optional_text("baseline"),
        ratio=_interval(node.optional_child("ratio")),
        threshold_status=node.optional_text("threshold_status"),
        note=node.optional_text("note"),
        limit=read_limit(node.optional_child("limit")),
    )


def _without_record(spec: CaseSpec, score: CaseScore) -> CaseResult:
    return CaseResult(
        spec=spec,
        score=score,
        verdict="not_run",
        message="there is no record of this case",
        next_step="the instructor runs the same command again: only what is missing is judged",
    )


def _outcome(score: CaseScore, record: Node) -> Node:
    """With the verdict that was scored."""
    outcome = record.child("outcome")
    if outcome.text("verdict") != score.verdict:
        raise record.error(
            f'expected the verdict "{score.verdict}" that scores.json has, got "{outcome.text("verdict")}"'
        )
    return outcome


def _brief_result(spec: CaseSpec, score: CaseScore, record: Node, device: Mapping[str, Any]) -> CaseResult:
    """What is said of a class: to read the rest of each record took a quarter of the time."""
    outcome = _outcome(score, record)
    counters, estimate = record.optional_child("counters"), record.optional_child("estimate")
    return CaseResult(
        spec=spec,
        score=score,
        verdict=score.verdict,
        reason=outcome.optional_text("reason"),
        message=outcome.optional_text("message"),
        timing=_timing(record.optional_child("timing")),
        ratios=_ratios(record.optional_child("ratios")),
        counters=counters.value if counters else None,
        estimated=_interval(estimate.optional_child("over_naive"), "ratio") if estimate else None,
        diagnostics=tuple(_diagnostic(n) for n in record.children("diagnostics")),
        device=device,
        wall_s=record.number("wall_s"),
        phases=_numbers(record.optional_child("phases")),
        judge_faults=_texts(record, "judge_faults"),
    )


def _case_result(spec: CaseSpec, score: CaseScore, record: Node, device: Mapping[str, Any]) -> CaseResult:
    outcome = _outcome(score, record)
    details, verification = outcome.optional_child("details"), record.optional_child("verification")
    counters, estimate = record.optional_child("counters"), record.optional_child("estimate")
    plan = record.optional_child("plan")
    return CaseResult(
        spec=spec,
        score=score,
        verdict=outcome.text("verdict"),
        reason=outcome.optional_text("reason"),
        message=outcome.optional_text("message"),
        next_step=outcome.optional_text("next_step"),
        output=details.optional_text("output") if details else "",
        pattern=record.optional_text("pattern"),
        repetitions=verification.integer("repetitions") if verification else None,
        methods=_texts(verification, "methods"),
        cells_checked=verification.integer("cells_checked") if verification else None,
        max_error_over_bound=verification.number("max_error_over_bound") if verification else None,
        mismatches=tuple(_mismatch(n) for n in record.children("mismatches")),
        timing=_timing(record.optional_child("timing")),
        plan_device_bytes=plan.number("device_bytes") if plan else None,
        ratios=_ratios(record.optional_child("ratios")),
        floor=_floor(record.optional_child("floor")),
        throughput_nnz_per_s=_throughput(record),
        counters=counters.value if counters else None,
        estimated=_interval(estimate.optional_child("over_naive"), "ratio") if estimate else None,
        estimate=estimate.optional_text("text") if estimate else "",
        diagnostics=tuple(_diagnostic(n) for n in record.children("diagnostics")),
        device=device,
        dataset_hash=record.child("case").optional_text("dataset_hash"),
        seed_commitment=record.optional_text("seed_commitment"),
        recorded_at=record.optional_text("recorded_at") or record.optional_text("started_at"),
        wall_s=record.number("wall_s"),
        phases=_numbers(record.optional_child("phases")),
        checksum=record.optional_text("checksum"),
        judge_faults=_texts(record, "judge_faults"),
    )


def _numbers(node: Node | None) -> dict[str, float]:
    numbers = {name: node.number(name) for name in node.value} if node else {}
    return {name: value for name, value in numbers.items() if value is not None}


def _texts(node: Node | None, key: str) -> tuple[str, ...]:
    found = node.value.get(key) if node else None
    return tuple(str(item) for item in found) if isinstance(found, list) else ()


def _mismatch(node: Node) -> Mismatch:
    want, got = node.value.get("want"), node.value.get("got")
    digits = 17 if _value_text(want, 7) == _value_text(got, 7) else 7  # what differs is to be seen
    index = node.value.get("index")
    place = index if isinstance(index, list) else [node.integer("row"), node.integer("col")]
    return Mismatch(
        tuple(int(number) for number in place if isinstance(number, int)),
        node.integer("row_nnz"),
        _value_text(want, digits),
        _value_text(got, digits),
        node.optional_text("output"),
    )


def _value_text(value: object, digits: int) -> str:
    """A cell's value: a number, or the word that the judge wrote for it."""
    if value is None:
        return "not finite"  # JSON has no NaN: an older record's null
    number = finite(value)
    return f"{number:.{digits}g}" if number is not None else str(value)


def _timing(node: Node | None) -> Timing | None:
    time = _interval(node, "median_us", "low_us", "high_us")
    if node is None or time is None:
        return None
    return Timing(
        time_us=time,
        bound_by=node.optional_text("bound_by"),
        event_median_us=node.number("event_median_us"),
        host_us=node.number("host_us"),
        synchronizes=node.value.get("synchronizes") is True,
        plan_ms=node.number("plan_ms"),
        break_even_runs=node.number("break_even_runs"),
        stopped_by=node.optional_text("stopped_by"),
        samples=_mapping(node, "samples"),
    )


def _ratios(node: Node | None) -> dict[str, Interval]:
    if node is None:
        return {}
    found = {name: _interval(node.optional_child(name)) for name in node.value}
    return {name: interval for name, interval in found.items() if interval is not None}


def _floor(node: Node | None) -> Floor | None:
    floor_us = node.number("floor_us") if node else None
    if node is None or floor_us is None:
        return None
    return Floor(floor_us, node.number("fraction"), node.number("compulsory_bytes"), node.number("peak_bytes_per_s"))


def _diagnostic(node: Node) -> Diagnostic:
    allocation = node.optional_child("allocation")
    return Diagnostic(
        kind=node.optional_text("kind") or "mistake",
        place=_place(node),
        kernel=node.optional_text("kernel"),
        block=_triple(node.value.get("block")),
        thread=_triple(node.value.get("thread")),
        allocation=_allocation(allocation) if allocation else "",
        count=node.integer("count"),
        message=node.optional_text("message"),
        advice=node.optional_text("advice"),
    )


def _place(node: Node) -> str:
    name = PurePosixPath(node.optional_text("file")).name
    line = node.integer("line")
    return f"{name}:{line}" if name and line is not None else name


def _triple(value: object) -> str:
    if not isinstance(value, list):
        return ""
    return "(" + ", ".join(str(item) for item in value) + ")"


def _allocation(node: Node) -> str:
    size, offset = node.integer("bytes"), node.integer("offset")
    text = node.optional_text("name") or "memory"
    if size is not None:
        text += f", {size:,} bytes"
    return f"{text}, at offset {offset:,}" if offset is not None else text


def _compilation(folder: Path) -> Compilation | None:
    """What the compiler said, or None for a submission that was never compiled."""
    if not (folder / "compile.json").is_file():
        return None
    step = "grade again with --fresh"
    node = read_node(folder / "compile.json", step)
    node.require_schema("warpgrade.submission.v1")
    log = folder / "compile.log"
    warnings = node.value.get("warnings")
    return Compilation(
        status=node.text("status"),
        message=node.optional_text("message"),
        seconds=node.number("seconds"),
        files=tuple(PurePosixPath(name).name for name in _texts(node, "files")),
        flags=" ".join(_texts(node, "flags")) or str(node.value.get("flags") or ""),
        warnings=len(warnings) if isinstance(warnings, list) else node.integer("warnings"),
        kernels=tuple(_kernels(node)),
        log=read_text(log, step) if log.is_file() else "",
    )


def _kernels(node: Node) -> Iterator[Kernel]:
    for kernel in node.children("kernels"):
        yield Kernel(
            name=kernel.optional_text("name") or "(unnamed)",
            arch=kernel.optional_text("arch"),
            registers=kernel.integer("registers"),
            shared_bytes=kernel.integer("shared_bytes"),
            constant_bytes=kernel.integer("constant_bytes"),
            stack_bytes=kernel.integer("stack_bytes"),
            spill_store_bytes=kernel.integer("spill_store_bytes"),
            spill_load_bytes=kernel.integer("spill_load_bytes"),
        )
