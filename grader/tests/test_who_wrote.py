"""Who wrote the outputs last: kernels, or the host by copies. Every way to copy is a case of one submission."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, records_of, warpgrade

SOURCE = Path(__file__).parent / "who_wrote/ways.cu"
BY_HOST = range(1, 15)
BY_KERNELS = range(51, 60)
CELLS = 1000


def judged(folder: Path) -> dict[int, dict[str, Any]]:
    """The record of each way."""
    shutil.copytree(SOURCE.parent, folder / "ways")
    policy = yaml.safe_load((ROOT / "grader/policies/vector_add.yaml").read_text(encoding="utf-8"))
    ways = [*BY_HOST, *BY_KERNELS]
    policy["cases"] = [{"id": f"way-{way}", "n": CELLS + way} for way in ways]
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy), encoding="utf-8")
    cases = ",".join(case["id"] for case in policy["cases"])
    call = warpgrade(
        *("grade", folder / "ways", "--lab", "vector_add", "--policy", folder / "policy.yaml"),
        *("--cases", cases, "--run", folder / "run"),
    )
    assert call.returncode == 0, call.stdout + call.stderr
    return {record["case"]["k"] - CELLS: record for record in records_of(folder / "run")}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Judged once."""
    return judged(tmp_path_factory.mktemp("ways"))


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
