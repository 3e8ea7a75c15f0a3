"""Who is believed where a declared lab's oracle, baseline and submission do not agree. Nobody's word alone decides
against a program: a wrong oracle and a wrong baseline are the judge's fault, told with both answers. Timed repetitions
need a GPU: `WARPGRADE_TEST_BACKEND=cuda` adds their tests (scripts/check-gpu trusted).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import records_of
from test_declared_lab import KERNEL, LAB, ORACLE, WRONG, Project, project

__all__ = ["project"]  # a fixture

BACKEND = os.environ.get("WARPGRADE_TEST_BACKEND", "emulator")
JUDGE_FAULT = 2

# Wrong from its fourth run in a process on, which the checked runs of a case do not reach.
WRONG_LATER = (
    KERNEL.replace("float* out) {", "float* out, float more) {", 1)
    .replace("= sum;", "= sum + more;")
    .replace("(x, y, n, out)", "(x, y, n, out, ++runs > 3 ? n : 0)")
    .replace("namespace {", "namespace {\n\nint runs = 0;", 1)
)
WRONG_AT_ONCE = KERNEL.replace("*out = sum", "*out = sum + n")


def make_lab(
    project: Project, oracle: str = ORACLE, naive: str = KERNEL, truth: str = "", **submissions: str
) -> tuple[Path, Path]:
    """The lab's folder and the class's."""
    project.warpgrade("labs", "new", "dot")
    lab = project.root / "reference/dot"
    declared = LAB if not truth else LAB.replace("check:", "device_truth: truth\ncheck:")
    (lab / "lab.yaml").write_text(declared, encoding="utf-8")
    (lab / "oracle.py").write_text(oracle, encoding="utf-8")
    (lab / "naive/dot.cu").write_text(naive, encoding="utf-8")
    if truth:
        (lab / "truth").mkdir()
        (lab / "truth/dot.cu").write_text(truth, encoding="utf-8")
    the_class = project.root.parent / "class"
    for name, source in submissions.items():
        (the_class / name).mkdir(parents=True)
        (the_class / name / "dot.cu").write_text(source, encoding="utf-8")
    return lab, the_class


def graded(project: Project, the_class: Path, *more: str, code: int = 0) -> str:
    run = project.root.parent / "run"
    return project.warpgrade(
        "grade", the_class, "--lab", "dot", "--backend", BACKEND, "--run", run, "--quiet", *more, code=code
    )


def test_an_oracle_that_refuses_the_baseline_as_well_is_not_believed(project: Project) -> None:
    wrong_oracle = ORACLE.replace("products.sum()", "(products.sum() + 100 * x.size)")
    _, the_class = make_lab(project, wrong_oracle, right=KERNEL)
    said = graded(project, the_class, "--baselines", "naive", "--no-speed", code=JUDGE_FAULT)
    assert "the oracle refuses the outputs of the program and of baseline naive" in said
    assert "the oracle or the baseline is wrong" in said and said.count("want") >= 2


def test_an_oracle_that_takes_the_baseline_s_output_is_believed(project: Project) -> None:
    _, the_class = make_lab(project, right=KERNEL, wrong=WRONG)
    graded(project, the_class, "--baselines", "naive", "--no-speed")
    verdicts = {
        record["submission"]["id"]: record["outcome"]["verdict"]
        for record in records_of(project.root.parent / "run")
        if record["case"]["id"] == "odd"
    }
    assert verdicts == {"right": "accepted", "wrong": "wrong_answer"}


def test_a_device_truth_is_declared_by_a_folder_and_verified_as_a_solution(project: Project) -> None:
    lab, _ = make_lab(project, truth=WRONG_AT_ONCE)
    project.warpgrade("labs", "pages", "dot")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator", code=3)
    assert "FAIL  device-truth on the emulator: accepted" in said, said
    (lab / "truth/dot.cu").unlink()
    (lab / "truth").rmdir()
    assert "truth/dot.cu is not there" in project.warpgrade("labs", "verify", "dot", "--backend", "emulator", code=3)
    declared = lab / "lab.yaml"
    declared.write_text(declared.read_text(encoding="utf-8").replace(": truth\n", ": ../truth\n"), encoding="utf-8")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator", code=1)
    assert "lab.yaml:" in said and "device_truth" in said
    declared.write_text(LAB.replace("oracle.py", "oracle.cu"), encoding="utf-8")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator", code=1)
    assert "lab.yaml:" in said and "`device_truth: FOLDER`, and dot.cu in that folder" in said


if BACKEND == "cuda":

    @pytest.mark.parametrize(
        ("naive", "truth", "blamed"),
        [
            (WRONG_AT_ONCE, "", "baseline naive"),
            (WRONG_LATER, "", "baseline naive is wrong on"),
            (WRONG_AT_ONCE, KERNEL, "baseline naive is wrong on"),
            (KERNEL, WRONG_LATER, "baseline device_truth is wrong on"),
            (KERNEL, WRONG_AT_ONCE, "baseline device_truth"),
        ],
    )
    def test_a_baseline_that_is_wrong_in_timed_repetitions_is_the_judge_s_fault(
        project: Project, naive: str, truth: str, blamed: str
    ) -> None:
        _, the_class = make_lab(project, naive=naive, truth=truth, right=KERNEL)
        assert blamed in graded(project, the_class, "--cases", "million", code=JUDGE_FAULT)

    def test_an_oracle_that_is_wrong_in_timed_repetitions_is_the_judge_s_fault(project: Project) -> None:
        wrong_oracle = ORACLE.replace("products.sum()", "(products.sum() + 100 * x.size)")
        _, the_class = make_lab(project, wrong_oracle, right=KERNEL)
        said = graded(project, the_class, "--cases", "million", code=JUDGE_FAULT)
        assert "the oracle refuses the outputs of the program and of baseline naive" in said

    def test_a_device_truth_answers_and_is_not_timed(project: Project) -> None:
        # One term of a million is less than the bound.
        _, the_class = make_lab(project, truth=KERNEL, right=KERNEL, wrong=WRONG_AT_ONCE)
        graded(project, the_class, "--cases", "million")
        records = {record["submission"]["id"]: record for record in records_of(project.root.parent / "run")}
        assert records["right"]["outcome"]["verdict"] == "accepted"
        assert records["wrong"]["outcome"]["verdict"] == "wrong_answer"
        assert records["right"]["verification"]["timed"]["baseline"] > 10
        assert set(records["right"]["ratios"]) == {"naive"}
