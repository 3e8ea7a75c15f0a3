"""One executor may serve a submission's cases one after another, as it does on a GPU.

The verdicts are what they are with an executor a case, and whoever spoils an executor has another one for the next
case.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Words, records_of, warpgrade

CASES = "synth-identity-k32,synth-empty-rows-k32,synth-ragged-k32,synth-duplicates-k32"
CORPUS = (
    "accepted/naive_copy",
    "accepted/leaks_its_plan",
    "accepted/keeps_its_lists_in_managed_memory",
    "accepted/side_stream",
    "accepted/takes_all_device_memory",
    "accepted/takes_every_handle",
    "accepted/leaves_a_daemon",
    "accepted/sorts_with_cub",
    "runtime_error/out_of_bounds",
    "runtime_error/host_segfault",
    "runtime_error/throws_std_exception",
    "runtime_error/exits_zero",
    "wrong_answer/missing_syncthreads",
)
# What it leaves on the device's heap only another executor's context clears.
LEAKS_ON_THE_DEVICE = """
__global__ void leak() { if (malloc(64) == nullptr) __trap(); }
"""

# It says that it is not written, and has spoilt the context.
FAULT = """
__global__ void fault() { *reinterpret_cast<volatile int*>(8) = 1; }
"""


def make_class(folder: Path) -> None:
    """Fixtures of the corpus, the stub, one that calls malloc() in a kernel, and one that is no stub."""
    for name in CORPUS:
        shutil.copytree(ROOT / "grader/tests/submissions" / name, folder / name.replace("/", "-"))
    naive = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
    begin = naive.index("cudaError_t spmm_plan")
    body = naive.index("{", begin) + 1
    shutil.copytree(ROOT / "student/spmm", folder / "stub")
    for name, kernel, statements in (
        ("leaks", LEAKS_ON_THE_DEVICE, "leak<<<1, 1>>>();"),
        ("faults", FAULT, "fault<<<1, 1>>>(); return cudaErrorNotSupported;"),
    ):
        (folder / name).mkdir()
        changed = naive[:begin] + kernel + naive[begin:body] + f"\n  {statements}\n" + naive[body:]
        (folder / name / "spmm.cu").write_text(changed, encoding="utf-8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """The records of both runs, by submission and case."""
    scratch = tmp_path_factory.mktemp("one-executor")
    make_class(scratch / "class")
    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for name, added in (("a case", {}), ("a submission", {"WARPGRADE_ONE_EXECUTOR": "1"})):
        run = scratch / name.replace(" ", "-")
        arguments: Words = ["--lab", "spmm", "--run", run, "--backend", "emulator", "--no-speed", "--cases", CASES]
        done = warpgrade("grade", scratch / "class", *arguments, env={**os.environ, **added})
        assert done.returncode == 0, done.stdout + done.stderr
        found[name] = {(r["submission"]["id"], r["case"]["id"]): r for r in records_of(run)}
    return found


@pytest.mark.parametrize("name", [*(name.replace("/", "-") for name in CORPUS), "leaks", "stub", "faults"])
def test_verdicts_do_not_depend_on_how_long_an_executor_lives(
    name: str, runs: dict[str, dict[tuple[str, str], dict[str, Any]]]
) -> None:
    each = {case: record for (submission, case), record in runs["a case"].items() if submission == name}
    assert len(each) == len(CASES.split(","))
    for case, record in each.items():
        one, other = record["outcome"], runs["a submission"][name, case]["outcome"]
        assert (one["verdict"], one.get("reason")) == (other["verdict"], other.get("reason")), (case, one, other)
        assert "judge_faults" not in runs["a submission"][name, case]


def test_an_executor_goes_on_to_the_next_case(runs: dict[str, dict[tuple[str, str], dict[str, Any]]]) -> None:
    """Where nothing was spoilt, or written; a fault, or a kernel that calls malloc(), ends it."""
    served = {
        name: [record["executor_serves"] for (who, _), record in runs["a submission"].items() if who == name]
        for name in ("accepted-naive_copy", "stub", "runtime_error-out_of_bounds", "leaks", "faults")
    }
    assert served == {
        "accepted-naive_copy": [1, 2, 3, 4],
        "stub": [1, 2, 3, 4],
        "runtime_error-out_of_bounds": [1, 1, 1, 1],
        "leaks": [1, 1, 1, 1],
        "faults": [1, 1, 1, 1],
    }
