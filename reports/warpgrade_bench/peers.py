"""The staff's solutions beside the fastest public kernels and the vendor's, from records of one GPU model.

Reads every folder below ROOT that holds `bench.jsonl` (lines `warpgrade.bench.v1`, from reference/spmm/tools/bench.sh)
or a judge's run with measured speeds, and `public_kernels.toml`. Nothing is measured here and nothing is typed in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from warpgrade_reports.model import CaseResult, Interval, Run
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.text import json_lines

from warpgrade_bench.published import sets_below

PUBLIC = Path(__file__).with_name("public_kernels.toml")
OURS = "optimized"
_CONFIDENCE = 0.95
_MB = 1e6
_LIGHT = "light"  # complete graphs whose distances fit in 16 bits
_STAND_IN = ".standin"  # of a real graph, beside it in the same file: not for comparing solutions


@dataclass(frozen=True)
class PublicKernel:
    """The fastest public kernel known on a case, and where it stood against the vendor's default then."""

    name: str
    time_ms: float
    over_default: float | None = None  # how many times as fast as the vendor's default, in that run


@dataclass(frozen=True)
class Row:
    """One case: our time, what it is set against, and the limit. Times in milliseconds."""

    lab: str
    case: str
    width: int  # K, n or fan-out: a table per width where a lab has more than one
    ours_ms: Interval
    over: Mapping[str, Interval]  # by baseline: how many times as fast ours is, paired in one run
    floor_ms: float | None
    floor_what: str
    public: PublicKernel | None = None
    ahead: Interval | None = None  # ours over the public kernel
    plan_ms: float | None = None
    real: bool = False
    repetitions: int = 0

    @property
    def of_floor(self) -> float | None:
        """The fraction of the limit that is reached; above 1 where caches serve what the limit counts as moved."""
        return None if self.floor_ms is None else self.floor_ms / self.ours_ms.median

    @property
    def plan_allowed_ms(self) -> float:
        """A plan may take twenty runs, and always 5 ms."""
        return max(20 * self.ours_ms.median, 5.0)


@dataclass(frozen=True)
class Ceilings:
    """Measured rates of the GPU model that public_kernels.toml describes."""

    dram_bytes_per_s: float
    min_plus_per_s: float
    min_plus_packed_per_s: float
    gather: tuple[tuple[float, float], ...]  # footprint in MB, bytes a second; ascending

    def gather_rate(self, footprint_bytes: float) -> float:
        """Bytes a second of random gathers, linear between the measured footprints."""
        size = footprint_bytes / _MB
        for (below, fast), (above, slow) in zip(self.gather, self.gather[1:], strict=False):
            if size <= above:
                share = max(size - below, 0.0) / (above - below)
                return fast + share * (slow - fast)
        return self.gather[-1][1]


@dataclass(frozen=True)
class Comparison:
    """All rows that records of one GPU model give."""

    device: str
    rows: tuple[Row, ...]
    sources: Mapping[str, str]
    slack: float
    folders: tuple[str, ...] = field(default=())

    def of(self, lab: str, *, real: bool = False) -> list[Row]:
        """A lab's rows in the order of the records; APSP's, which several sets may hold, by kind of graph and n."""
        rows = [row for row in self.rows if row.lab == lab and row.real == real]
        return sorted(rows, key=lambda row: (row.case.rsplit("-", 1)[0], row.width)) if lab == "apsp" else rows


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean of positive values; None without any."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def interval_of(values: Sequence[float]) -> Interval:
    """Median and its 95 % interval by order statistics (binomial), no bounds below six values."""
    ordered, n = sorted(values), len(values)
    middle = median(ordered)
    tail, below = 0.0, -1
    for k in range(n // 2):
        tail += math.comb(n, k) * 0.5**n
        if 2 * tail > 1 - _CONFIDENCE:
            break
        below = k
    return Interval(middle) if below < 0 else Interval(middle, ordered[below], ordered[n - 1 - below])


def spmm_floor_ms(rows: int, cols: int, nnz: int, k: int, ceilings: Ceilings) -> tuple[float, str]:
    """max(compulsory bytes / DRAM, gathered bytes / rate at which B's narrowest strip of 32 columns is gathered)."""
    compulsory = (8 * nnz + 4 * (rows + 1) + 4 * k * (cols + rows)) / ceilings.dram_bytes_per_s
    gathered = 4 * k * nnz / ceilings.gather_rate(4 * min(k, 32) * cols)
    return (1e3 * compulsory, "compulsory bytes") if compulsory >= gathered else (1e3 * gathered, "gathers of B")


def read_ceilings(public: Mapping[str, Any]) -> Ceilings:
    """The rates of public_kernels.toml."""
    node = public["ceilings"]
    return Ceilings(
        node["dram_bytes_per_s"],
        node["min_plus_per_s"],
        node["min_plus_packed_per_s"],
        tuple((size, rate) for size, rate in node["gather"]),
    )


def compare(root: Path, public_file: Path = PUBLIC) -> Comparison:
    """Everything below `root` that was measured on the public table's GPU model, other models left out."""
    import tomllib  # noqa: PLC0415 -- Python 3.10 lacks it, and a class's report does without

    public = tomllib.loads(public_file.read_text(encoding="utf-8"))
    ceilings = read_ceilings(public)
    rows: dict[tuple[str, str, int], tuple[Row, str]] = {}
    cases: dict[str, int] = {}
    benches = {file.parent.relative_to(root).as_posix(): file.parent for file in root.glob("**/bench.jsonl")}
    for set_name, folder in sorted((benches | sets_below(root)).items()):
        bench = folder / "bench.jsonl"
        found = _bench_rows(bench, public, ceilings) if bench.is_file() else _run_rows(folder, public, ceilings)
        cases[set_name] = len(found)
        for row in found:  # a case of two sets is told from the one that repeated it more often, or is fuller
            key = (row.lab, row.case, row.width)
            told = rows.get(key)
            if told is None or (row.repetitions, len(found)) > (told[0].repetitions, cases[told[1]]):
                rows[key] = (row, set_name)
    if not rows:
        raise ReportInputError(
            str(root),
            f"expected records measured on one {public['device']}, got none",
            "make them on such a GPU with scripts/measure peers, or name another folder",
        )
    sources = {
        lab: public[lab]["source"] for lab in public if isinstance(public[lab], dict) and "source" in public[lab]
    }
    folders = tuple(sorted({folder for _, folder in rows.values()}))
    best = tuple(row for row, _ in rows.values())
    return Comparison(public["device"], best, sources, public["spmm"]["slack"], folders)


def _bench_rows(file: Path, public: Mapping[str, Any], ceilings: Ceilings) -> list[Row]:
    rows = []
    known = {(case["graph"], case["k"]): case for case in public["spmm"]["cases"]}
    for number, line in json_lines(file.read_text(encoding="utf-8")):
        place = f"{file}:{number}"
        try:
            record = json.loads(line)
            if record["schema"] != "warpgrade.bench.v1":
                raise ReportInputError(place, f"expected warpgrade.bench.v1, got {record['schema']}", "measure anew")
            if record["device"] == public["device"] and not record["graph"].endswith(_STAND_IN):
                rows.append(_bench_row(record, known.get((record["graph"], record["k"])), ceilings, place))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ReportInputError(place, f"is not a bench record ({error!r})", "measure anew") from error
    return rows


def _bench_row(record: Mapping[str, Any], known: Mapping[str, Any] | None, ceilings: Ceilings, place: str) -> Row:
    samples = {submission["name"]: submission for submission in record["submissions"]}
    for name, submission in samples.items():
        if submission["wrong_cells"] != 0:
            raise ReportInputError(
                place, f"{name} has {submission['wrong_cells']} wrong cells", "correct it and measure again"
            )
    ours = samples[OURS]
    over = {
        name: interval_of([b / a for a, b in zip(ours["samples_ms"], other["samples_ms"], strict=True)])
        for name, other in samples.items()
        if name != OURS
    }
    kernel, ahead = None, None
    if known is not None:
        then = known["cusparse_default_ms"] / known["best_ms"]
        kernel = PublicKernel(known["best"], known["best_ms"], then)
        now = over["cusparse_default"]
        low, high = (None if bound is None else bound / then for bound in (now.low, now.high))
        ahead = Interval(now.median / then, low, high)
    floor, what = spmm_floor_ms(record["rows"], record["cols"], record["nnz"], record["k"], ceilings)
    return Row(
        "spmm",
        record["graph"],
        record["k"],
        interval_of(ours["samples_ms"]),
        over,
        floor,
        what,
        kernel,
        ahead,
        ours["plan_ms"],
        real=known is None,
        repetitions=len(ours["samples_ms"]),
    )


def _run_rows(folder: Path, public: Mapping[str, Any], ceilings: Ceilings) -> list[Row]:
    run = read_run(folder)
    ours = next((submission for submission in run.submissions if submission.id == OURS), None)
    if ours is None or run.device.get("name") != public["device"]:
        return []
    return [
        _run_row(run, result, public, ceilings)
        for result in ours.cases
        if result.accepted
        and result.timing is not None
        and result.ratios
        # SpMM's stand-ins are not the public kernels' matrices: those are bench.jsonl's.
        and (run.lab != "spmm" or result.spec.dataset_kind == "real")
    ]


def _run_row(run: Run, result: CaseResult, public: Mapping[str, Any], ceilings: Ceilings) -> Row:
    spec, timing = result.spec, result.timing
    if timing is None:
        raise AssertionError("only timed results have a row")
    scaled = [None if t is None else t / 1e3 for t in (timing.time_us.median, timing.time_us.low, timing.time_us.high)]
    ours = Interval(scaled[0] or math.nan, scaled[1], scaled[2])
    floor = None if result.floor is None else result.floor.floor_us / 1e3
    what = "compulsory bytes"
    kernel, ahead = None, None
    if run.lab == "spmm" and spec.rows and spec.cols and spec.nnz:
        floor, what = spmm_floor_ms(spec.rows, spec.cols, spec.nnz, spec.width, ceilings)
    if run.lab == "apsp":
        packed = spec.dataset == _LIGHT
        rate = ceilings.min_plus_packed_per_s if packed else ceilings.min_plus_per_s
        relaxing = (1e3 * spec.width**3 / rate, "16-bit relaxations" if packed else "int32 relaxations")
        floor, what = max(relaxing, (floor or 0.0, what))
        known = next((case for case in public["apsp"]["cases"] if case["n"] == spec.width), None)
        if known is not None and spec.dataset == "complete":
            kernel = PublicKernel(known["best"], known["best_ms"])
            low = None if ours.high is None else known["best_ms"] / ours.high
            high = None if ours.low is None else known["best_ms"] / ours.low
            ahead = Interval(known["best_ms"] / ours.median, low, high)
    return Row(
        run.lab,
        spec.id,
        spec.width,
        ours,
        result.ratios,
        floor,
        what,
        kernel,
        ahead,
        timing.plan_ms,
        real=spec.dataset_kind == "real",
        repetitions=len(timing.submission_us),
    )
