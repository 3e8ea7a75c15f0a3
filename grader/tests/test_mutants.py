"""`labs mutants` tells what a lab's correctness cases do not see; grading never runs a mutant."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import WARPGRADE, warpgrade
from test_declared_lab import KERNEL, LAB, ORACLE, Project

# A warp adds up all terms: with 32 of them no lane has two.
FEW_TERMS = LAB.replace("  - {id: odd, n: 1000, why: a count that no block divides}", "  - {id: warp, n: 32, why: one}")
SUM = "sum += x[i] * y[i]"
LOOP_LINE = next(k for k, line in enumerate(KERNEL.splitlines(), 1) if SUM in line)
RARE = KERNEL.replace(
    "  if (threadIdx.x == 0)",
    "  if (n > 100000)\n    for (int i = 0; i < n; ++i) sum -= y[i];\n  if (threadIdx.x == 0)",
)
# Right as well; neither 1 nor 1,000 terms get there.
MIDDLE = KERNEL.replace(
    "  if (threadIdx.x == 0)",
    "  if (n > 10 && n < 900) {\n    sum = 0;\n    for (int i = 0; i < n; ++i) sum += x[i] * y[i];\n  }\n"
    "  if (threadIdx.x == 0)",
)
MIDDLE_LINE = next(k for k, line in enumerate(MIDDLE.splitlines(), 1) if "i = 0; i < n" in line)
# No block has so many threads, whatever the comparison's boundary is.
IDLE = KERNEL.replace("  if (threadIdx.x == 0)", "  if (threadIdx.x > 5000) sum += 1;\n  if (threadIdx.x == 0)")
IDLE_LINE = next(k for k, line in enumerate(IDLE.splitlines(), 1) if "5000" in line)
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


def mutants(project: Project, *more: str, shapes: int = 15, code: int = 0) -> dict[str, Any]:
    command = ["labs", "mutants", "dot", "--solution", "naive", "--all", "--shapes", str(shapes), "--json"]
    said = project.warpgrade(*command, *more, code=code)
    report: dict[str, Any] = json.loads(said[said.index("{") : said.rindex("}") + 1])
    return report


def lost_sums(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Survivors that keep the last product of the loop alone."""
    return [
        one
        for one in report["survivors"]
        if (one["operator"], one["line"]) == ("first_term", LOOP_LINE) and one["instruction"].startswith("fma")
    ]


def reasons_for(survivors: list[dict[str, Any]]) -> str:
    """A survivors.yaml with a line each."""
    lines = [
        f"  - {{solution: naive, file: {s['file']}, line: {s['line']}, operator: {s['operator']},"
        f" ordinal: {s['ordinal']}, reason: tried}}\n"
        for s in survivors
    ]
    return "survivors:\n" + "".join(lines)


def test_a_sum_that_forgets_its_terms_survives_until_a_case_has_two_a_thread(project: Project) -> None:
    lab = lab_of(project, FEW_TERMS)
    few = mutants(project, shapes=8)
    assert few["listed"] == few["tried"] > 30
    assert few["not_judged"] == []
    assert few["refused"] > few["listed"] / 4
    assert lost_sums(few)
    assert all(sorted(one["passed"]) == ["one", "warp"] for one in few["survivors"])
    (lab / "lab.yaml").write_text(LAB, encoding="utf-8")
    many = mutants(project, shapes=8)
    assert lost_sums(many) == []
    assert many["refused"] > few["refused"]


def test_a_survivor_needs_a_reason(project: Project) -> None:
    lab = lab_of(project, LAB)
    survivors = mutants(project, "--check", shapes=0, code=1)["survivors"]
    file = lab / "survivors.yaml"
    file.write_text(reasons_for(survivors), encoding="utf-8")
    report = mutants(project, "--check", shapes=0)
    assert report["survivors"] == []
    assert len(report["explained"]) == len(survivors)
    file.write_text("survivors:\n  - {solution: naive, lines: 3}\n", encoding="utf-8")
    assert "survivors.yaml:2" in project.warpgrade("labs", "mutants", "dot", "--time-limit", "0", code=1)


def test_a_survivor_that_is_wrong_in_a_random_shape_needs_a_case_and_no_reason(project: Project) -> None:
    lab = lab_of(project, LAB, MIDDLE)
    report = mutants(project, "--most", "80")
    wrong = [one for one in report["survivors"] if one["wrong"]]
    assert {one["line"] for one in wrong} >= {MIDDLE_LINE}
    assert all(one["shows_in"].startswith("random shape n: ") for one in wrong)
    (lab / "survivors.yaml").write_text(reasons_for(report["survivors"]), encoding="utf-8")
    keep = project.root / "report.json"
    keep.write_text(json.dumps(report), encoding="utf-8")
    again = mutants(project, "--again", str(keep), "--check", code=1)
    assert again["tried"] == report["tried"] - report["refused"]
    assert again["explained"]
    assert {one["mutant"] for one in again["survivors"]} == {one["mutant"] for one in wrong}
    middle = LAB.replace("  - {id: odd", "  - {id: few, n: [16, 17], why: few terms}\n  - {id: odd")
    (lab / "lab.yaml").write_text(middle, encoding="utf-8")
    again = mutants(project, "--again", str(keep))
    assert [one for one in again["survivors"] if one["line"] == MIDDLE_LINE and one["wrong"]] == []


def test_a_mutant_that_changes_no_bit_anywhere_needs_no_reason(project: Project) -> None:
    lab_of(project, LAB, IDLE)
    report = mutants(project, shapes=8)
    idle = [(one["line"], one["operator"]) for one in report["unchanged"]]
    assert (IDLE_LINE, "boundary") in idle
    assert (IDLE_LINE, "boundary") not in [(one["line"], one["operator"]) for one in report["survivors"]]


def test_a_solution_that_is_not_there_is_told_at_once_with_its_line(project: Project) -> None:
    lab = lab_of(project, LAB)
    (lab / "survivors.yaml").write_text("# what is known\nsolutions: [nave]\nsurvivors: []\n", encoding="utf-8")
    for command in (["verify", "dot", "--backend", "emulator"], ["mutants", "dot"]):
        said = project.warpgrade("labs", *command, code=1)
        assert "survivors.yaml:2: solutions[0]: " in said and "did you mean naive?" in said
        assert "compiling" not in said and "oracle" not in said


def test_verify_tries_the_mutants_of_the_solutions_that_have_reasons(project: Project) -> None:
    lab = lab_of(project, LAB)
    # As `labs verify` draws: other inputs let other mutants through.
    seed = int(hashlib.sha256(b"dot").hexdigest()[:15], 16)
    survivors = mutants(project, "--seed", str(seed), shapes=40)["survivors"]
    verify = ["labs", "verify", "dot", "--backend", "emulator", "--honest-runs", "0"]
    file = lab / "survivors.yaml"
    file.write_text("solutions: [naive]\n" + reasons_for(survivors), encoding="utf-8")
    said = project.warpgrade(*verify, code=3)  # the lab's page and its stub are not made for it
    assert "ok    no mutant of naive survives without a reason; dot: " in said
    assert "--    mutants of other solutions than naive: survivors.yaml has no reasons for them yet" in said
    file.write_text("solutions: [naive]\nsurvivors: []\n", encoding="utf-8")
    assert "FAIL  no mutant of naive survives without a reason; dot: " in project.warpgrade(*verify, code=3)
    file.write_text("solutions: []\nsurvivors: []\n", encoding="utf-8")
    said = project.warpgrade(*verify, code=3)
    assert "--    mutants: survivors.yaml has reasons of a sample alone" in said
    assert "no mutant of" not in said


def test_a_line_that_no_case_reaches_is_told_apart(project: Project) -> None:
    lab_of(project, LAB, RARE)
    report = mutants(project)
    assert RARE_LINE in {one["line"] for one in report["unreached"]}
    assert RARE_LINE not in {one["line"] for one in report["survivors"]}


def test_a_kernel_that_no_case_launches_is_listed_and_its_mutants_come_last(project: Project) -> None:
    launch = next(line for line in KERNEL.splitlines() if "<<<" in line)
    chosen = KERNEL.replace(launch, f"{launch}\n  if (n > 1000000) for_large<<<1, 32>>>(out, n);")
    kernel = "__global__ void for_large(float* out, int n) {\n  if (threadIdx.x < n) out[0] += 0;\n}\n\n"
    first = chosen.index("__global__")
    lab_of(project, LAB, chosen[:first] + kernel + chosen[first:])
    report = mutants(project, "--most", "0")
    assert [(one["solution"], "for_large" in one["kernel"]) for one in report["never_launched"]] == [("naive", True)]
    assert report["never_launched"][0]["mutants"] > 0 and report["tried"] == 0
    said = project.warpgrade("labs", "mutants", "dot", "--solution", "naive", "--most", "0")
    assert f"none of {report['listed']} mutants was tried: there is no score" in said
    assert "no case launches " in said


def test_what_was_tried_before_ctrl_c_is_reported(project: Project) -> None:
    lab = lab_of(project, LAB)
    command = [str(WARPGRADE), "labs", "mutants", "dot", "--all", "--json", "--keep"]
    environment = os.environ | {"WARPGRADE_HOME": str(project.root)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert any(re.search(r"mutants.*: [1-9][0-9]* of [0-9]+ tried", line) for line in process.stderr)
        process.send_signal(signal.SIGINT)
        said, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert "its score is not kept" in words
    assert not (lab / "mutants.json").exists()
    report = json.loads(said)
    assert 0 < report["tried"] < report["listed"]
    (project.root / "report.json").write_text(said, encoding="utf-8")
    assert f"{report['tried']} of " in project.warpgrade(
        "labs", "mutants", "dot", "--report", project.root / "report.json"
    )


def test_a_report_with_something_missing_is_bad_input(tmp_path: Path) -> None:
    lists: dict[str, Any] = {name: [] for name in ("explained", "unchanged", "unreached", "not_judged")}
    kept = {
        "schema": "warpgrade.mutants.v1",
        "lab": "scan",
        "survivors": [{"solution": "naive", "mutant": "x"}],
    } | lists
    report = tmp_path / "report.json"
    for damaged in (kept, {key: value for key, value in kept.items() if key != "lab"}):
        report.write_text(json.dumps(damaged), encoding="utf-8")
        done = warpgrade("labs", "mutants", "scan", "--report", report)
        assert done.returncode == 1
        assert f"{report}: expected a whole report" in done.stderr


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


def kept_of(project: Project) -> dict[str, Any]:
    listed = json.loads(project.warpgrade("labs", "--json"))["labs"]
    kept: dict[str, Any] = next(lab["mutants"] for lab in listed if lab["name"] == "dot")
    return kept


def test_a_kept_score_stands_in_labs_and_on_the_staffs_page_until_the_lab_changes(project: Project) -> None:
    lab = lab_of(project, LAB)
    assert "dot  " in (before := project.warpgrade("labs"))
    assert "mutants: no score" in next(line for line in before.splitlines() if line.startswith("dot "))
    assert "mutants: no score: warpgrade labs mutants dot --keep" in project.warpgrade("labs", "dot")
    said = project.warpgrade("labs", "mutants", "dot", "--most", "12", "--shapes", "4", "--keep", "--json")
    report = json.loads(said[said.index("{") : said.rindex("}") + 1])
    kept = json.loads((lab / "mutants.json").read_text(encoding="utf-8"))
    assert kept["tried"] == report["tried"] == 12
    assert kept["changing"] == kept["refused"] + len(report["survivors"])
    share = f"{100 * kept['refused'] / kept['changing']:.1f} % of {kept['changing']} refused"
    assert f"mutants: {share}\n" in project.warpgrade("labs", "dot")
    assert f"; mutants: {share})" in project.warpgrade("labs")
    page = (lab / "README.md").read_text(encoding="utf-8")
    assert f"| 12 of {kept['listed']} | {kept['shapes']} | {kept['changing']} |" in page
    assert kept_of(project)["is_stale"] is False

    declared = (lab / "lab.yaml").read_text(encoding="utf-8")
    assert "why: a count that no block divides" in declared
    (lab / "lab.yaml").write_text("# words\n" + declared.replace("no block divides", "is odd"), encoding="utf-8")
    assert kept_of(project)["is_stale"] is False
    (lab / "lab.yaml").write_text(declared.replace("n: 1000,", "n: 1001,"), encoding="utf-8")
    assert kept_of(project)["is_stale"] is True
    assert f"{share} before the lab was changed" in project.warpgrade("labs")
    (lab / "lab.yaml").write_text(declared, encoding="utf-8")
    (lab / "naive/dot.cu").write_text(KERNEL + "\n", encoding="utf-8")
    assert kept_of(project)["is_stale"] is True


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "warpgrade.mutants_score.v1", "listed": "x"}'])
def test_a_damaged_score_hides_neither_labs_nor_cases(project: Project, text: str) -> None:
    lab = lab_of(project, LAB)
    (lab / "mutants.json").write_text(text, encoding="utf-8")
    listed = project.warpgrade("labs")
    assert "mutants: the score is damaged)" in next(line for line in listed.splitlines() if line.startswith("dot "))
    assert "the score is damaged: warpgrade labs mutants dot --keep" in project.warpgrade("labs", "dot")
    assert "damaged" in kept_of(project)["mistake"]


def test_a_report_is_read_again_with_new_reasons_and_made_a_page(project: Project) -> None:
    lab = lab_of(project, LAB)
    report = mutants(project, shapes=0)
    file, page = project.root / "report.json", project.root / "page.html"
    file.write_text(json.dumps(report), encoding="utf-8")
    again = ["labs", "mutants", "dot", "--report", str(file), "--check"]
    assert " 0 survive with a reason" in project.warpgrade(*again, code=1)
    (lab / "survivors.yaml").write_text(reasons_for(report["survivors"]), encoding="utf-8")
    project.warpgrade(*again, "--page", str(page))
    shown = page.read_text(encoding="utf-8")
    for one in report["survivors"]:
        assert f"naive/dot.cu:{one['line']}" in shown
        source = KERNEL.splitlines()[one["line"] - 1].strip()
        assert one["source"] == source
        assert source in html.unescape(shown)
    assert "all solutions" in project.warpgrade(*again, "--keep", code=1)
    file.write_text("{}", encoding="utf-8")
    assert "expected a report of" in project.warpgrade(*again, code=1)
