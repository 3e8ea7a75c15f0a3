"""Records of a GPU, the emulator's counters of these runs, and the model's estimates, for scripts/validate-estimate."""

from __future__ import annotations

import functools
import itertools
import json
import lzma
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpgrade_reports.text import lines_of

from warpgrade_bench.set_archives import unpacked

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports/published"
COUNTERS = PUBLISHED / "estimate/counters.jsonl.xz"
PROBLEMS = PUBLISHED / "estimate/problems.jsonl"
PROBLEMS_COUNTED = PUBLISHED / "estimate/problems-h200-ncu.csv"  # of its ncu counts, microseconds and per cent
PROBLEMS_TIMED = PUBLISHED / "estimate/problems-h200.jsonl"  # what scripts/measure estimate wrote on an H200
LAUNCHES_COUNTED = PUBLISHED / "estimate/launches-h200-ncu.csv"  # scripts/measure estimate, taken over by `launches`
# The emulator's counters of the cases that only scripts/measure estimate runs.
DRAWN = PUBLISHED / "estimate/drawn.jsonl"
TABLE = PUBLISHED / "estimate.md"
FINDINGS = tomllib.loads(Path(__file__).with_name("estimate_findings.toml").read_text(encoding="utf-8"))
WARPGRADE = os.environ.get("WARPGRADE", str(ROOT / "build/bin/warpgrade"))
Run = dict[str, Any]


@functools.cache
def records(gpu: str = "h200") -> dict[tuple[str, str, str], list[Run]]:
    """Accepted timed records of a GPU by lab, case and submission."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    with unpacked(PUBLISHED) as sets:
        for path in sorted((sets / gpu).glob("**/records.jsonl")):
            if "sweeps" in path.parts:  # variants of a step, under the step's name
                continue
            for line in lines_of(path.read_text(encoding="utf-8")):
                record = json.loads(line)
                if "timing" not in record or record["outcome"]["verdict"] != "accepted":
                    continue
                key = (record["lab"], record["case"]["id"], record["submission"]["id"])
                found.setdefault(key, []).append(record)
    return found


def read_counters() -> list[Run]:
    """The emulator's counters, a run a line."""
    return [json.loads(line) for line in lines_of(lzma.decompress(COUNTERS.read_bytes()).decode())]


def keep_counters(runs: Iterable[Run]) -> None:
    """Writes them in their order, whole or not at all."""
    text = "".join(json.dumps(run, separators=(",", ":")) + "\n" for run in runs)
    unfinished = COUNTERS.with_suffix(".tmp")
    unfinished.write_bytes(lzma.compress(text.encode(), preset=9))
    unfinished.replace(COUNTERS)


def bare(name: str) -> str:
    """A kernel's name without result and parameters: `void f<3>(int)` is `f<3>`."""
    name, depth, begin = name.replace("(anonymous namespace)", "_"), 0, 0
    for at, letter in enumerate(name):
        if depth == 0 and letter == " ":
            begin = at + 1
        if depth == 0 and letter == "(":
            return name[begin:at]
        depth += (letter in "<(") - (letter in ">)")
    return name[begin:]


def without_zeros(group: Run) -> Run:
    kept = {name: value for name, value in group.items() if value != 0}
    if "classes" in kept:
        kept["classes"] = {name: value for name, value in kept["classes"].items() if value != 0}
    return kept


def folder_of(lab: str, submission: str) -> Path:
    name = submission.removeprefix("step-")
    return ROOT / "reference" / lab / (f"steps/{name}" if name != submission else submission)


def count(lab: str, case: str, submission: str) -> Run | None:
    command = [WARPGRADE, "profile", folder_of(lab, submission), "--lab", lab, "--case", case, "--json", "--no-naive"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    try:
        profile = json.loads(done.stdout)
    except json.JSONDecodeError:
        print(f"{lab} {case} {submission}: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    if profile["outcome"]["verdict"] != "accepted":
        return None
    groups = [without_zeros(g) for g in profile["counters"].get("launch_groups", []) if g["in_run"]]
    return {"lab": lab, "case": case, "submission": submission, "groups": groups}


def when(record: Run) -> str:
    """The time of a record, which sorts as text."""
    return str(record.get("recorded_at") or record.get("started_at", ""))


def with_records(runs: Iterable[Run], gpu: str = "h200") -> list[Run]:
    """The runs that a record times, each with its median and its kernels' registers."""
    known, timed = records(gpu), []
    for run in runs:
        found = known.get((run["lab"], run["case"], run["submission"]))
        if not found:
            continue
        names = {bare(g["kernel"]) for g in run["groups"]}
        kernels = [
            {"name": k["name"], "registers": k["registers"]}
            for k in max(found, key=when)["kernels"]
            if bare(k["name"]) in names
        ]
        newest = max(found, key=when)["submission"]["hash"]  # counters are of the program in the tree
        median = statistics.median(r["timing"]["median_us"] for r in found if r["submission"]["hash"] == newest)
        timed.append({**run, "kernels": kernels, "measured_us": median})
    return timed


def load(gpu: str = "h200") -> list[Run]:
    return with_records(read_counters(), gpu)


def is_held_out(run: Run) -> bool:
    return run["submission"] not in FINDINGS["fitted"].get(run["lab"], ())


class Model:
    """The model itself is in the program: this asks it for many runs at once."""

    def __init__(self, runs: list[Run], device: str = "h200") -> None:
        self.device = device
        self.file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8")  # noqa: SIM115
        for run in runs:
            self.file.write(json.dumps({"groups": run["groups"], "kernels": run["kernels"]}) + "\n")
        self.file.flush()

    def __call__(self, coefficients: dict[str, float] | None = None) -> list[Run]:
        command = [WARPGRADE, "estimate", self.file.name, "--device", self.device]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as given:
            if coefficients:
                given.write(json.dumps(coefficients))
                given.flush()
                command += ["--coefficients", given.name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in lines_of(done.stdout)]


def coefficients_in_tree() -> dict[str, float]:
    text = (ROOT / "grader/course/profile/coefficients.cpp").read_text(encoding="utf-8")
    return {name: float(value) for name, value in re.findall(r'\{"(\w+)", ([-\d.e+]+)\}', text)}


def quantile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def summary(rows: list[Run]) -> tuple[float, float]:
    errors = [abs(math.log(r["estimate"]["us"] / r["measured_us"])) for r in rows]
    return (math.exp(quantile(errors, 0.5)), math.exp(quantile(errors, 0.9))) if errors else (0, 0)


def pairs(rows: list[Run]) -> Iterable[tuple[Run, Run]]:
    """Two solutions of one case, the slower one first by its record."""
    for a, b in itertools.combinations(rows, 2):
        if (a["lab"], a["case"]) == (b["lab"], b["case"]):
            yield (a, b) if a["measured_us"] >= b["measured_us"] else (b, a)


def order_right(rows: list[Run], one_held_out: bool) -> tuple[int, int]:
    right = wrong = 0
    for slow, fast in pairs(rows):
        if slow["measured_us"] < 1.5 * fast["measured_us"]:
            continue
        if one_held_out and not (slow["held_out"] or fast["held_out"]):
            continue
        ok = slow["estimate"]["us"] > fast["estimate"]["us"]
        right, wrong = right + ok, wrong + (not ok)
    return right, right + wrong


def within_interval(rows: list[Run], low: float, high: float) -> float:
    inside = [low <= r["measured_us"] / r["estimate"]["us"] <= high for r in rows]
    return sum(inside) / len(inside) if inside else 0.0
