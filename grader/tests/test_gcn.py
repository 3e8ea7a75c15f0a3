"""Lab gcn: the staff's solutions on the emulator, and inputs in a contest's raw layout from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Words, records_of, warpgrade

ROOM = ROOT / "reference/gcn"
WRONG = Path(__file__).parent / "submissions/wrong_answer"
EMULATOR = ("--lab", "gcn", "--backend", "emulator")
OPERATORS = ("xw", "aggregate", "softmax", "pipeline")


@pytest.fixture(scope="module")
def staff(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The records of every staff solution on the public and hidden cases."""
    run = tmp_path_factory.mktemp("gcn") / "run"
    arguments: Words = ["grade", "--with-reference", *EMULATOR, "--run", run, "--cases", "public,hidden", "--quiet"]
    done = warpgrade(*arguments, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    return records_of(run)


def test_naive_and_optimized_are_accepted_in_every_case(staff: list[dict[str, Any]]) -> None:
    for name in ("naive", "optimized"):
        outcomes = [(r["case"]["id"], r["outcome"]) for r in staff if r["submission"]["id"] == name]
        assert len(outcomes) > 30
        assert [o for o in outcomes if o[1]["verdict"] != "accepted"] == []


def test_every_step_is_accepted_in_x_times_w_and_in_what_else_it_writes(staff: list[dict[str, Any]]) -> None:
    steps = sorted(path.name for path in ROOM.glob("steps/*") if (path / "gcn.cu").exists())
    if not steps:
        pytest.skip("lab gcn has no steps yet")
    for step in steps:
        records = [r for r in staff if r["submission"]["id"] == f"step-{step}"]
        assert records, step
        for record in records:
            case, verdict = record["case"]["id"], record["outcome"]["verdict"]
            allowed = {"accepted"} if case.startswith("xw-") else {"accepted", "not_implemented"}
            assert verdict in allowed, (step, case, record["outcome"])


@pytest.fixture
def raw_layer(tmp_path: Path) -> Path:
    """A small graph and its numbers as a contest hands them out."""
    random = np.random.default_rng(7)
    folder = tmp_path / "contest input"
    folder.mkdir()
    vertices, entries = 57, 300
    edges = random.integers(0, vertices, (entries, 2))
    text = f"{vertices} {entries}\n" + "".join(f"{row} {column}\n" for row, column in edges)
    (folder / "graph.txt").write_text(text, encoding="utf-8")
    random.standard_normal((vertices, 128)).astype("<f8").tofile(folder / "x.bin")
    random.standard_normal((128, 16)).astype("<f8").tofile(folder / "w.bin")
    return folder


def test_a_raw_input_is_judged_operator_by_operator(raw_layer: Path) -> None:
    done = warpgrade("check", ROOM / "naive", *EMULATOR, "--input", raw_layer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("ok")] == [
        f"ok {operator}-input" for operator in OPERATORS
    ]
    wrong = warpgrade("check", WRONG / "gcn_fp32_sums", *EMULATOR, "--input", raw_layer, "--cases", "xw-input")
    assert wrong.returncode == 3, wrong.stdout + wrong.stderr
    assert "of fp32's size" in wrong.stdout
    assert f"--input '{raw_layer}'" in wrong.stdout


def test_another_raw_input_is_another_run(raw_layer: Path, tmp_path: Path) -> None:
    arguments: Words = ["grade", ROOM / "naive", *EMULATOR, "--input", raw_layer, "--run", tmp_path / "run", "--quiet"]
    assert warpgrade(*arguments).returncode == 0
    w = np.fromfile(raw_layer / "w.bin")
    w[0] += 1
    w.tofile(raw_layer / "w.bin")
    again = warpgrade(*arguments)
    assert again.returncode == 1
    assert "cases changed" in again.stderr


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda folder: (folder / "graph.txt").write_text("57 2\n0 1\n57 3\n"),
            "graph.txt:3: expected vertices from 0",
        ),
        (lambda folder: (folder / "w.bin").unlink(), "w.bin is not there; expected W: 128 x 16 numbers"),
        (lambda folder: np.zeros((57, 128), "<f4").tofile(folder / "x.bin"), "is it fp32?"),
        (lambda folder: np.full((128, 16), np.inf).tofile(folder / "w.bin"), "w.bin: byte 0 (row 0, column 0)"),
        (lambda folder: np.full((128, 16), 1e307).tofile(folder / "w.bin"), "x.bin or w.bin by a smaller factor"),
    ],
    ids=["entry", "missing", "fp32", "infinite", "too large"],
)
def test_a_bad_raw_input_is_refused_with_its_place(
    raw_layer: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(raw_layer)
    done = warpgrade("check", ROOM / "naive", *EMULATOR, "--input", raw_layer)
    assert done.returncode == 1, done.stdout + done.stderr
    assert words in done.stderr, done.stderr
    assert "\n" not in done.stderr.strip()


def test_labs_without_inputs_of_ones_own_say_so(raw_layer: Path) -> None:
    done = warpgrade("check", ROOT / "reference/spmm/naive", "--backend", "emulator", "--input", raw_layer)
    assert done.returncode == 1
    assert "lab spmm takes no --input" in done.stderr
