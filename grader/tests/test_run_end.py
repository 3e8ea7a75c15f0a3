"""Work that nothing orders before the end of a run: told, and wrong where the policy says `order: required`.

The executor's commands decide, so a GPU is to give the same verdicts as the emulator (`--backend cuda`, check-gpu).
What orders what is from NVIDIA's CUDA C++ Programming Guide (streams, events, the default streams, graphs); the ways
were written here.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, records_of, warpgrade
from corpus import BACKEND

SOURCE = Path(__file__).parent / "run_end/ways.cu"
LEFT = range(1, 11)
ORDERED = range(51, 63)
CELLS = 1000


def judged(folder: Path, order: str) -> dict[int, dict[str, Any]]:
    """The record of each way, under a policy of this order."""
    policy = yaml.safe_load((ROOT / "grader/policies/vector_add.yaml").read_text(encoding="utf-8"))
    policy["cases"] = [{"id": f"way-{way}", "n": CELLS + way} for way in (*LEFT, *ORDERED)]
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy | {"order": order}), encoding="utf-8")
    shutil.copytree(SOURCE.parent, folder / "ways")
    cases = ",".join(case["id"] for case in policy["cases"])
    call = warpgrade(
        "grade", folder / "ways", "--lab", "vector_add", "--policy", folder / "policy.yaml",
        "--cases", cases, "--run", folder / "run", "--backend", BACKEND,
    )  # fmt: skip
    assert call.returncode == 0, call.stdout + call.stderr
    return {record["case"]["width"] - CELLS: record for record in records_of(folder / "run")}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """By a policy that asks for no order."""
    return judged(tmp_path_factory.mktemp("told"), "told")


@pytest.fixture(scope="module")
def required(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """By one that does."""
    return judged(tmp_path_factory.mktemp("required"), "required")


@pytest.mark.parametrize("way", [*LEFT, *ORDERED])
def test_work_that_is_left_is_told_and_wrong_where_the_policy_says_so(
    told: dict[int, dict[str, Any]], required: dict[int, dict[str, Any]], way: int
) -> None:
    """Its outputs are right in either case: the judge waits for all of it."""
    kinds = [finding["kind"] for finding in told[way].get("diagnostics", [])]
    assert told[way]["outcome"]["verdict"] == "accepted"
    outcome = required[way]["outcome"]
    if way in LEFT:
        assert told[way]["unordered_work"]["commands"] >= 1
        assert "unordered" in kinds
        assert (outcome["verdict"], outcome["reason"]) == ("wrong_answer", "unordered"), outcome
        assert "cause_search" not in required[way]
    else:
        assert "unordered_work" not in told[way], told[way]["unordered_work"]
        assert "unordered" not in kinds
        assert outcome["verdict"] == "accepted", outcome


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (1, "kernel `add` in own stream #"),
        (6, "a memset in own stream #"),
        (7, "a graph in own stream #"),
        (9, "kernel `add` in the thread's default stream"),
    ],
)
def test_the_command_and_its_stream_are_named(required: dict[int, dict[str, Any]], way: int, words: str) -> None:
    """Of several commands of a stream, the last."""
    assert words in required[way]["unordered_work"]["last"]
    assert words in required[way]["outcome"]["message"]
