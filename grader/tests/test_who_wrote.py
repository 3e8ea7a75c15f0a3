"""Who wrote the outputs last: kernels, or the host by copies. Every way to copy is a case of one submission."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, records_of, warpgrade
from corpus import BACKEND

SOURCE = Path(__file__).parent / "who_wrote/ways.cu"
BY_HOST = range(1, 15)
BY_KERNELS = range(51, 60)
CELLS = 1000
# A case of each lab whose judge is C++, and of one that is declared and works in place of its input.
LABS = {
    "spmm": "synth-ragged-k32",
    "apsp": "one-way-90",
    "histogram": "uniform-small",
    "sampling": "synth-hub-100x4",
    "gcn": "xw-517",
}


def own_policy(file: Path, ways: list[int], **more: object) -> list[str]:
    """Writes a policy with a case for each way; their ids."""
    policy = yaml.safe_load((ROOT / "grader/policies/vector_add.yaml").read_text(encoding="utf-8"))
    policy["cases"] = [{"id": f"way-{way}", "n": CELLS + way} for way in ways]
    file.write_text(yaml.safe_dump(policy | more), encoding="utf-8")
    return [case["id"] for case in policy["cases"]]


def grade(folder: Path, ways: list[int], *options: str, **policy: object) -> None:
    """Judges ways.cu in folder/run."""
    shutil.copytree(SOURCE.parent, folder / "ways")
    cases = own_policy(folder / "policy.yaml", ways, **policy)
    call = warpgrade(
        "grade", folder / "ways", "--lab", "vector_add", "--policy", folder / "policy.yaml",
        "--cases", ",".join(cases), "--run", folder / "run", "--backend", BACKEND, *options,
    )  # fmt: skip
    assert call.returncode == 0, call.stdout + call.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judged once."""
    folder = tmp_path_factory.mktemp("ways")
    grade(folder, [*BY_HOST, *BY_KERNELS])
    return folder / "run"


@pytest.fixture(scope="module")
def records(run: Path) -> dict[int, dict[str, Any]]:
    """The record of each way."""
    return {record["case"]["width"] - CELLS: record for record in records_of(run)}


@pytest.mark.parametrize("way", [*BY_HOST, *BY_KERNELS])
def test_the_last_writer_is_told_and_the_verdict_stays(records: dict[int, dict[str, Any]], way: int) -> None:
    """Scoring alone draws a conclusion: all of these answers are right."""
    record = records[way]
    assert record["outcome"]["verdict"] == "accepted"
    written = record["outputs_by"]
    assert written["last_writer"] == ("host" if way in BY_HOST else "kernel"), written
    assert written["bytes"] == 4 * (CELLS + way)


def test_kernels_are_counted(records: dict[int, dict[str, Any]]) -> None:
    """None, one, two; those of graphs included."""
    kernels = {way: record["outputs_by"]["kernels"] for way, record in records.items()}
    assert [kernels[way] for way in (1, 9, 11, 13, 51)] == [0, 1, 1, 2, 1]


def test_a_few_cells_are_the_hosts_without_harm(records: dict[int, dict[str, Any]]) -> None:
    """The bytes are told all the same."""
    assert records[53]["outputs_by"]["host_bytes"] == 16


def scored(run: Path, policy: Path) -> dict[str, Any]:
    """The only submission's scores, by the policy."""
    call = warpgrade("rescore", run, "--policy", policy, "--yes")
    assert call.returncode == 0, call.stdout + call.stderr
    only: dict[str, Any] = json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"][0]
    return only


def test_kernel_required_takes_the_points_of_these_cases_alone(run: Path, tmp_path: Path) -> None:
    """All by scoring again: the points of the others stay, and scoring twice is scoring once."""
    ways = [*BY_HOST, *BY_KERNELS]
    own_policy(tmp_path / "told.yaml", ways)
    own_policy(tmp_path / "required.yaml", ways, kernel="required")
    told, required = scored(run, tmp_path / "told.yaml"), scored(run, tmp_path / "required.yaml")
    assert scored(run, tmp_path / "required.yaml") == required
    assert told["points"] == pytest.approx(40)
    assert required["points"] == pytest.approx(40 * len(BY_KERNELS) / len(ways))
    assert required["verdict"] == "accepted"
    for before, after in zip(told["cases"], required["cases"], strict=True):
        by_host = int(before["id"].removeprefix("way-")) in BY_HOST
        assert before.get("cpu_only", False) == after.get("cpu_only", False) == by_host
        assert after["points"] == (0 if by_host else before["points"])
        assert ("let a kernel compute" in after.get("note", "")) == by_host


def test_a_case_or_set_is_dropped_by_scoring_again(run: Path, tmp_path: Path) -> None:
    """The student reads that the staff did it."""
    own_policy(
        tmp_path / "drop.yaml", [*BY_HOST, *BY_KERNELS], kernel="required", drop=[f"way-{way}" for way in BY_HOST]
    )
    dropped = scored(run, tmp_path / "drop.yaml")
    assert dropped["points"] == pytest.approx(40)
    assert dropped["total_cases"] == len(BY_KERNELS)
    views = [json.loads(file.read_text("utf-8")) for file in run.glob("export/feedback/*/feedback.json")]
    told = [case for view in views for case in view["cases"] if case.get("dropped")]
    assert len(told) == len(BY_HOST)
    assert all("dropped by the staff" in case["note"] for case in told)


def test_a_direct_run_does_not_know(tmp_path: Path) -> None:
    """Without the executor nobody sees the copies."""
    grade(tmp_path, [1], "--direct", host_isolation="any")
    (record,) = records_of(tmp_path / "run")
    assert record["outcome"]["verdict"] == "accepted"
    assert "outputs_by" not in record


@pytest.mark.parametrize("lab", LABS)
def test_every_lab_says_who_wrote(lab: str, tmp_path: Path) -> None:
    """Also where the output is the input: what the judge put there is nobody's."""
    call = warpgrade(
        *("grade", ROOT / f"reference/{lab}/naive", "--lab", lab, "--cases", LABS[lab]),
        *("--run", tmp_path / "run", "--backend", BACKEND),
    )
    assert call.returncode == 0, call.stdout + call.stderr
    for record in records_of(tmp_path / "run"):
        assert record["outputs_by"]["last_writer"] == "kernel", record["outputs_by"]
        assert record["outputs_by"]["kernels"] > 0
