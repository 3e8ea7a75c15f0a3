"""What changed from version to version: bounds and counters, held against what an H200 and the emulator counted.

Versions are the staff's SpMM ladder. Times and counters are published records; ncu's are those of an H200
(grader/emulator/tests/hardware/records).
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, LOOK, ask, browse
from conftest import known
from synthetic_class import ROOT
from warpgrade_reports.work_log import Version, WorkLog, read_work_logs
from warpgrade_reports.work_log_changes import changes
from warpgrade_reports.work_log_page import render

NCU = ROOT / "grader/emulator/tests/hardware/records/h200"
STEPS = ["01_warp_per_row", "02_staged_a", "03_column_groups", "04_row_split", "05_two_shapes"]
LOADS = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
CASE = "arxiv-k32"


def ncu_rows(step: str, k: int) -> list[dict[str, str]]:
    """The table that ncu printed of a step, a row a launch."""
    with (NCU / f"spmm_{step}_k{k}.csv").open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["ID"]]


def metric(rows: list[dict[str, str]], name: str) -> float:
    return sum(float(row[name].replace(",", "")) for row in rows)


def summary(step: str, k: int) -> dict[str, Any]:
    """As `warpgrade profile --hardware` leaves it, with some of the figures of the kernel that multiplies."""
    rows = [row for row in ncu_rows(step, k) if "plan" not in row["Kernel Name"]]
    name = re.sub(r"[<(].*", "", re.sub(r"<unnamed>::|^void ", "", rows[-1]["Kernel Name"])).split("::")[-1]
    rows = [row for row in rows if name in row["Kernel Name"]]
    requests, sectors = (metric(rows, LOADS.format(what)) for what in ("requests", "sectors"))
    figures = {
        "warp instr.": metric(rows, "smsp__inst_executed.sum") / len(rows),
        "load requests": requests / len(rows),
        "load sectors/req": sectors / requests,
    }
    return {
        "schema": "warpgrade.hardware.v1",
        "lab": "spmm",
        "case": f"synthetic-k{k}",
        "device": "NVIDIA H200",
        "kernels": [
            {
                "kernel": name,
                "launches": len(rows),
                "figures": [{"name": n, "hardware": value, "emulator": 1.0} for n, value in figures.items()],
            }
        ],
    }


def published(sets: Path, step: str) -> Path:
    """The run that timed this step on an H200."""
    return next(run for run in (sets / "h200/spmm/steps").iterdir() if (run / "submissions" / f"step-{step}").exists())


@pytest.fixture
def ladder(sets: Path, tmp_path: Path) -> WorkLog:
    """A student who handed in the ladder's steps; each was timed on an H200, counted by the emulator and by ncu."""
    versions = []
    for number, step in enumerate(STEPS, 1):
        counted = tmp_path / f"{step}.json"
        counted.write_text(json.dumps(summary(step, 32)), encoding="utf-8")
        judged: list[dict[str, Any]] = [
            {"run": str(run), "submission": f"step-{step}"}
            for run in (published(sets, step), sets / "h200/spmm/launches")
        ]
        judged[0]["limits"] = {
            CASE: {"us": 11.083, "bound_by": "DRAM", "share": number / 10, "bytes": 1.0, "operations": 0.0}
        }
        versions.append(
            {
                "snapshot": str(ROOT / "reference/spmm/steps" / step),
                "at": f"2026-11-0{number}T12:00:00Z",
                "notes": [],
                "judged": judged,
                "counted": [str(counted)],
            }
        )
    counts = {"versions": len(STEPS), "notes": 0, "gains": 0, "arrived_whole": False}
    students = [{"student": "ada", "counts": counts, "versions": versions}]
    file = tmp_path / "counted.json"
    file.write_text(json.dumps({"schema": "warpgrade.journeys.v1", "lab": "spmm", "students": students}), "utf-8")
    (log,) = read_work_logs(file)
    return log


def records(run: Path, step: str) -> dict[str, dict[str, Any]]:
    lines = (json.loads(line) for line in (run / "records.jsonl").open(encoding="utf-8"))
    return {record["case"]["id"]: record for record in lines if record["submission"]["id"] == f"step-{step}"}


def test_times_are_of_the_gpu_and_counters_of_the_emulator_where_both_judged_a_version(
    sets: Path, ladder: WorkLog
) -> None:
    version = ladder.steps[1].version
    timed, counted = records(published(sets, STEPS[1]), STEPS[1]), records(sets / "h200/spmm/launches", STEPS[1])
    assert set(version.cases) == set(timed) | set(counted)
    both = set(timed) & set(counted)
    assert both
    for name in both:
        case = version.cases[name]
        assert known(case.time_us).median == timed[name]["timing"]["median_us"]
        assert case.counters["warp_instructions"] == counted[name]["counters"]["warp_instructions"]


def test_what_ncu_counted_on_a_gpu_stands_beside_the_version_before(ladder: WorkLog) -> None:
    """From step 3 to 4 rows are split among warps: an H200's ncu saw other sectors a request."""
    told = changes(ladder.steps[2].version, ladder.steps[3].version)
    (line,) = [line for line in told if line.startswith("counted by the NVIDIA H200 on synthetic-k32")]
    was, now = (
        figure["hardware"]
        for step in STEPS[2:4]
        for figure in summary(step, 32)["kernels"][0]["figures"]
        if figure["name"] == "load requests"
    )
    assert abs(now - was) > 0.05 * was, "the records have something to tell"
    assert f"load requests {was:,.0f} → {now:,.0f}" in line
    page = render(ladder)
    assert line in page
    assert page.count("Counters of the NVIDIA H200 on synthetic-k32") == len(STEPS)


def test_counters_of_the_emulator_are_told_where_they_differ_and_nowhere_else(sets: Path, ladder: WorkLog) -> None:
    told = changes(ladder.steps[0].version, ladder.steps[1].version)
    (line,) = [line for line in told if line.startswith("counted by the emulator")]
    both = [records(sets / "h200/spmm/launches", step) for step in STEPS[:2]]
    common = set(both[0]) & set(both[1])
    was, now = (sum(each[name]["counters"]["warp_instructions"] for name in common) for each in both)
    assert ("warp instructions" in line) == (abs(now - was) > 0.05 * max(was, now))
    assert "global sectors per request" in line
    same = changes(ladder.steps[0].version, ladder.steps[0].version)
    assert [line for line in same if "counted" in line] == []


def test_the_share_of_what_the_gpu_allows_stands_beside_the_share_before(ladder: WorkLog) -> None:
    told = changes(ladder.steps[0].version, ladder.steps[1].version)
    assert told[0] == "reaches 20.0 % of what the GPU allows in 1 case (bound by DRAM in 1), 10.0 % before"
    assert "of what the GPU allows" in render(ladder)


def test_a_bound_that_changed_is_told_with_its_cases_and_a_wrong_case_says_nothing(ladder: WorkLog) -> None:
    """The bounds are the estimate's; three cases had another one before, and a fourth is wrong now."""
    version = ladder.steps[0].version
    names = list(version.cases)[:4]

    def bound_by(bound: str, verdict: str = "accepted") -> Version:
        changed = {name: replace(version.cases[name], bound=bound, verdict="accepted") for name in names}
        changed[names[3]] = replace(changed[names[3]], verdict=verdict)
        return replace(version, cases={**version.cases, **changed})

    (told,) = changes(bound_by("latency"), bound_by("dram", "wrong_answer"))[1:]
    assert told == f"depends on device memory, no longer on waiting for loads, in 3 cases ({', '.join(names[:3])})"
    assert changes(bound_by("dram"), bound_by("dram"))[1:] == []


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_the_page_is_read_on_a_phone_and_in_the_dark_and_axe_finds_nothing(ladder: WorkLog, tmp_path: Path) -> None:
    page = tmp_path / "way.html"
    page.write_text(render(ladder).replace("<details", "<details open"), encoding="utf-8")
    for dark in (False, True):
        for look in ask(tmp_path, [(page, 390), (page, 1400)], LOOK, dark=dark, axe=True):
            assert "error" not in look, look
            assert look["axe"] == []
            assert look["content"] <= look["window"]


@pytest.mark.skipif(CHROMIUM is None or shutil.which("pdftotext") is None, reason="no chromium or poppler-utils here")
def test_on_paper_a_difference_is_whole_and_nothing_reaches_into_the_margin(ladder: WorkLog, tmp_path: Path) -> None:
    """On a screen a long difference scrolls in its box."""
    page, pdf = tmp_path / "way.html", tmp_path / "way.pdf"
    page.write_text(render(ladder).replace("<details", "<details open"), encoding="utf-8")
    browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
    boxes = subprocess.run(["pdftotext", "-bbox", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    assert max(float(x) for x in re.findall(r'xMax="([\d.]+)"', boxes)) <= 595 - 20
    text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    printed = {word.lstrip("+-") for word in text.split()}  # a sign stands before a line's first word
    changed = ladder.steps[1].difference
    assert len(changed) > 60
    assert {word.lstrip("+-") for line in changed for word in line.split()} - printed == set()
