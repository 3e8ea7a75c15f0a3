"""One submission's trouble ends nobody else's grading, wherever something fails: grader/base/inject.h makes it fail."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, records_of, warpgrade

NAIVE = ROOT / "reference/spmm/naive"
CASE = "synth-identity-k32"
CLASS = ("ada", "bo", "chen")
HIT = "bo"

GRADED, JUDGE_FAULT = 0, 2  # exit codes, grader/base/error.h

# Where it fails, how, and whether that is in a judge process: there the fault follows the submission into a second one.
FAILURES = [
    ("stage", "exception", False),
    ("compile", "other", False),
    ("inspect", "exception", False),
    ("start", "exception", True),
    ("plan", "other", True),
    ("run", "signal", True),
    ("check", "exception", True),
    ("record", "exception", False),
]


def class_of(folder: Path, mark: str) -> Path:
    """Three copies of the naive solution; a new mark makes the one to be hit go through every stage of compiling."""
    for name in CLASS:
        shutil.copytree(NAIVE, folder / name)
    with (folder / HIT / "spmm.cu").open("a", encoding="utf-8") as source:
        source.write(f"// {mark}\n")
    return folder


def grade(folder: Path, run: Path, wish: str = "") -> subprocess.CompletedProcess[str]:
    """Judges the class on one tiny case."""
    return warpgrade(
        "grade",
        folder,
        "--run",
        run,
        "--backend",
        "emulator",
        "--cases",
        CASE,
        env={**os.environ, "WARPGRADE_INJECT": wish},
    )


def outcomes(run: Path) -> dict[str, dict[str, Any]]:
    """Each submission's outcome on the case."""
    return {record["submission"]["id"]: record["outcome"] for record in records_of(run)}


def export(run: Path, wish: str = "") -> subprocess.CompletedProcess[str]:
    """What students and courseware get."""
    formats = ("--format", "gradescope,feedback", "--unfinished", "leave-empty")
    return warpgrade("export", run, *formats, env={**os.environ, "WARPGRADE_INJECT": wish})


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class without any trouble, to be exported."""
    scratch = tmp_path_factory.mktemp("graded")
    done = grade(class_of(scratch / "class", "known"), scratch / "run")
    assert done.returncode == GRADED, done.stdout + done.stderr
    return scratch / "run"


@pytest.mark.parametrize(("stage", "kind", "in_judge"), FAILURES)
def test_a_failure_at_any_stage_leaves_the_others_graded(tmp_path: Path, stage: str, kind: str, in_judge: bool) -> None:
    """The one that was hit is told with what happened, and a later call mends it."""
    folder, run = class_of(tmp_path / "class", "known" if in_judge else str(tmp_path)), tmp_path / "run"
    done = grade(folder, run, f"stage:{stage},submission:{HIT},kind:{kind}")
    assert done.returncode == (GRADED if in_judge else JUDGE_FAULT), done.stdout + done.stderr
    found = outcomes(run)
    assert {name: found[name]["verdict"] for name in CLASS if name != HIT} == {"ada": "accepted", "chen": "accepted"}
    listed = next(line for line in done.stdout.splitlines() if line.startswith(f"  {HIT} {CASE}: "))
    told = {"exception": f"injected at {stage}", "other": "unknown type", "signal": "signal 11"}[kind]
    assert told in listed, done.stdout
    scores = {s["id"]: s for s in json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"]}
    if in_judge:
        # Two fresh judges failed with this program and a third one got through with the staff's: the case is lost.
        assert (found[HIT]["verdict"], found[HIT]["reason"]) == ("runtime_error", "judge_fault_twice")
        record = next(r for r in records_of(run) if r["submission"]["id"] == HIT)
        assert len(record["judge_faults"]) == 2 and all(told in cause for cause in record["judge_faults"])
        assert scores[HIT]["points"] == 0 and scores[HIT]["undecided_cases"] == 0
        assert '"judge_fault_twice"' in (run / "events.jsonl").read_text(encoding="utf-8")
    else:
        assert found[HIT]["verdict"] == "judge_fault"
        assert scores[HIT]["undecided_cases"] == 1
    exported = export(run)
    assert exported.returncode == GRADED, exported.stderr
    assert {p.name for p in (run / "export/feedback").iterdir() if p.is_dir()} == set(CLASS)
    if in_judge:
        shutil.rmtree(run / "cases" / HIT)  # what `regrade` does
    mended = grade(folder, run)
    assert mended.returncode == GRADED, mended.stdout + mended.stderr
    assert {outcome["verdict"] for outcome in outcomes(run).values()} == {"accepted"}


def test_a_submission_at_which_the_program_dies_is_set_aside(tmp_path: Path) -> None:
    """Two calls die by the signal; the third gets to all the others and says so; without the cause all is judged."""
    folder, run = class_of(tmp_path / "class", str(tmp_path)), tmp_path / "run"
    wish = f"stage:compile,submission:{HIT},kind:signal"
    for _ in range(2):
        assert grade(folder, run, wish).returncode == -signal.SIGSEGV
    done = grade(folder, run, wish)
    assert done.returncode == JUDGE_FAULT, done.stdout + done.stderr
    assert {name: outcome["verdict"] for name, outcome in outcomes(run).items()} == {
        "ada": "accepted",
        "bo": "judge_fault",
        "chen": "accepted",
    }
    assert "2 calls of warpgrade died while they handled this submission" in done.stdout
    assert grade(folder, run).returncode == GRADED
    assert {outcome["verdict"] for outcome in outcomes(run).values()} == {"accepted"}


@pytest.mark.parametrize("kind", ["exception", "signal"])
def test_where_every_program_fails_the_machine_is_at_fault(tmp_path: Path, kind: str) -> None:
    """The staff's own program fails too: nobody pays, and the next call judges them all."""
    folder, run = class_of(tmp_path / "class", "known"), tmp_path / "run"
    done = grade(folder, run, f"stage:start,kind:{kind}")
    assert done.returncode == JUDGE_FAULT, done.stdout + done.stderr
    assert {outcome["verdict"] for outcome in outcomes(run).values()} == {"judge_fault"}
    assert grade(folder, run).returncode == GRADED
    assert {outcome["verdict"] for outcome in outcomes(run).values()} == {"accepted"}


@pytest.mark.parametrize("stage", ["report", "export"])
def test_who_cannot_be_exported_holds_up_nobody(tmp_path: Path, graded: Path, stage: str) -> None:
    """The others' files are there, the one is named with the reason, and the next call makes all."""
    run = tmp_path / "run"
    shutil.copytree(graded, run)
    done = export(run, f"stage:{stage},submission:{HIT},kind:exception")
    assert done.returncode == JUDGE_FAULT, done.stderr
    assert HIT in done.stderr and f"injected at {stage}" in done.stderr, done.stderr
    others = [name for name in CLASS if name != HIT]
    assert all((run / f"export/gradescope/{name}.json").exists() for name in others)
    assert all("accepted" in (run / f"export/feedback/{name}/index.html").read_text("utf-8") for name in others)
    assert export(run).returncode == GRADED
    assert (run / f"export/gradescope/{HIT}.json").exists()
    assert "could not be made" not in (run / f"export/feedback/{HIT}/index.html").read_text("utf-8")


def test_words_that_are_no_text_end_nothing(tmp_path: Path) -> None:
    """A compiler message and a program's words in bytes that are no UTF-8: records, feedback and exports are made."""
    folder, run = class_of(tmp_path / "class", "known"), tmp_path / "run"
    source = (folder / "ada/spmm.cu").read_bytes()
    (folder / "ada/spmm.cu").write_bytes(b"#error \xff\xfe\x80 not text\n" + source)
    words = b'#include <cstdio>\nstatic const int said = std::puts("\\xff\\xfe \\xed\\xa0\\x80 \\x1b[2J");\n'
    (folder / "bo/spmm.cu").write_bytes(
        words + source.replace(b"return cudaGetLastError();", b"return cudaErrorUnknown;")
    )
    done = grade(folder, run)
    assert done.returncode == GRADED, done.stdout + done.stderr
    verdicts = {name: outcome["verdict"] for name, outcome in outcomes(run).items()}
    assert verdicts == {"ada": "compile_error", "bo": "runtime_error", "chen": "accepted"}
    assert export(run).returncode == GRADED
    again = grade(folder, run)
    assert again.returncode == GRADED and "0 cases judged, 3 recorded before" in again.stdout, again.stdout
