"""`labs mutants` tells what a lab's correctness cases do not see; grading never runs a mutant."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import warpgrade
from test_declared_lab import KERNEL, LAB, ORACLE, Project

# A warp adds up all terms: with 32 of them no lane has two.
FEW_TERMS = LAB.replace("  - {id: odd, n: 1000, why: a count that no block divides}", "  - {id: warp, n: 32, why: one}")
SUM = "sum += x[i] * y[i]"
LOOP_LINE = next(k for k, line in enumerate(KERNEL.splitlines(), 1) if SUM in line)
RARE = KERNEL.replace(
    "  if (threadIdx.x == 0)",
    "  if (n > 100000)\n    for (int i = 0; i < n; ++i) sum -= y[i];\n  if (threadIdx.x == 0)",
)
RARE_LINE = next(k for k, line in enumerate(RARE.splitlines(), 1) if "sum -= y[i]" in line)


def lab_of(project: Project, declaration: str, kernel: str = KERNEL) -> Path:
    project.warpgrade("labs", "new", "dot")
    lab = project.root / "reference/dot"
    (lab / "lab.yaml").write_text(declaration, encoding="utf-8")
    (lab / "oracle.py").write_text(ORACLE, encoding="utf-8")
    (lab / "naive/dot.cu").write_text(kernel, encoding="utf-8")
    return lab


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


def mutants(project: Project, *more: str, code: int = 0) -> dict[str, Any]:
    said = project.warpgrade("labs", "mutants", "dot", "--solution", "naive", "--all", "--json", *more, code=code)
    report: dict[str, Any] = json.loads(said[said.index("{") : said.rindex("}") + 1])
    return report


def lost_sums(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Survivors that keep the last product of the loop alone."""
    return [
        one
        for one in report["survivors"]
        if (one["operator"], one["line"]) == ("first_term", LOOP_LINE) and one["instruction"].startswith("fma")
    ]


def test_a_sum_that_forgets_its_terms_survives_until_a_case_has_two_a_thread(project: Project) -> None:
    lab = lab_of(project, FEW_TERMS)
    few = mutants(project)
    assert few["listed"] == few["tried"] > 30
    assert few["not_judged"] == []
    assert few["refused"] > few["listed"] / 4
    assert lost_sums(few)
    assert all(sorted(one["passed"]) == ["one", "warp"] for one in few["survivors"])
    (lab / "lab.yaml").write_text(LAB, encoding="utf-8")
    many = mutants(project)
    assert lost_sums(many) == []
    assert many["refused"] > few["refused"]


def test_a_survivor_needs_a_reason(project: Project) -> None:
    lab = lab_of(project, LAB)
    survivors = mutants(project, "--check", code=1)["survivors"]
    lines = [
        f"  - {{solution: naive, file: {s['file']}, line: {s['line']}, operator: {s['operator']},"
        f" ordinal: {s['ordinal']}, reason: tried}}"
        for s in survivors
    ]
    file = lab / "survivors.yaml"
    file.write_text("survivors:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    report = mutants(project, "--check")
    assert report["survivors"] == []
    assert len(report["explained"]) == len(survivors)
    file.write_text("survivors:\n  - {solution: naive, lines: 3}\n", encoding="utf-8")
    assert "survivors.yaml:2" in project.warpgrade("labs", "mutants", "dot", "--time-limit", "0", code=1)


def test_verify_tries_the_mutants_of_the_solutions_that_have_reasons(project: Project) -> None:
    lab = lab_of(project, LAB)
    # As `labs verify` draws: other inputs let other mutants through.
    seed = int(hashlib.sha256(b"dot").hexdigest()[:15], 16)
    survivors = mutants(project, "--seed", str(seed))["survivors"]
    lines = [
        f"  - {{solution: naive, file: {s['file']}, line: {s['line']}, operator: {s['operator']},"
        f" ordinal: {s['ordinal']}, reason: tried}}\n"
        for s in survivors
    ]
    verify = ["labs", "verify", "dot", "--backend", "emulator", "--honest-runs", "0"]
    file = lab / "survivors.yaml"
    file.write_text("solutions: [naive]\nsurvivors:\n" + "".join(lines), encoding="utf-8")
    said = project.warpgrade(*verify, code=3)  # the lab's page and its stub are not made for it
    assert "ok    no mutant of naive survives without a reason; dot: " in said
    assert "--    mutants of other solutions than naive: survivors.yaml has no reasons for them yet" in said
    file.write_text("solutions: [naive]\nsurvivors: []\n", encoding="utf-8")
    assert "FAIL  no mutant of naive survives without a reason; dot: " in project.warpgrade(*verify, code=3)
    file.write_text("solutions: []\nsurvivors: []\n", encoding="utf-8")
    assert "survivors.yaml:1: solutions: expected a solution's name" in project.warpgrade(*verify, code=1)


def test_a_line_that_no_case_reaches_is_told_apart(project: Project) -> None:
    lab_of(project, LAB, RARE)
    report = mutants(project)
    assert RARE_LINE in {one["line"] for one in report["unreached"]}
    assert RARE_LINE not in {one["line"] for one in report["survivors"]}


def test_grading_refuses_to_run_mutants(tmp_path: Path) -> None:
    done = warpgrade(
        "grade",
        "reference/vector_add/naive",
        "--lab",
        "vector_add",
        "--backend",
        "emulator",
        "--run",
        tmp_path / "run",
        env=os.environ | {"WARPEMU_MUTANT": "list"},
    )
    assert done.returncode == 1
    assert "WARPEMU_MUTANT is set" in done.stderr
    assert not (tmp_path / "run").exists()
