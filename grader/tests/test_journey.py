"""`warpgrade note` and `warpgrade journey`, as a student and the staff type them; the judge takes what note wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, warpgrade

VECTOR_ADD = ROOT / "reference/vector_add"
NOTE = 'two numbers a thread: "1.5x", 20 % less; tab\there'


def hand_in(folder: Path, solution: str) -> Path:
    """A student's folder of vector_add with one of the staff's solutions."""
    own = folder / "vector_add"
    own.mkdir(parents=True, exist_ok=True)
    for file in (VECTOR_ADD / solution).iterdir():
        (own / file.name).write_bytes(file.read_bytes())
    return own


def note(folder: Path, text: str, lab: str = "vector_add") -> str:
    """What the command says; it must be taken."""
    done = warpgrade("note", lab, text, "--folder", folder)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_note_stands_in_the_manifest_beside_what_was_there(tmp_path: Path) -> None:
    manifest = hand_in(tmp_path, "naive") / "submission.yaml"
    manifest.write_text("title: Ada\nnote:\n  - of\n  - before\nflags: [-O2]\n", encoding="utf-8")
    note(tmp_path, NOTE)
    given = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    assert given == {"title": "Ada", "flags": ["-O2"], "note": NOTE.replace("\t", " ")}
    note(tmp_path, "another")
    assert yaml.safe_load(manifest.read_text(encoding="utf-8"))["note"] == "another"
    assert manifest.read_text(encoding="utf-8").count("note:") == 1


@pytest.mark.parametrize(
    ("lab", "text", "message"),
    [
        ("vector_ad", "x", "no lab is named 'vector_ad'"),
        ("scan", "x", "expected your folder of lab scan"),
        ("vector_add", "  ", "expected a sentence"),
    ],
    ids=["lab", "folder", "empty"],
)
def test_what_is_no_note_changes_nothing(tmp_path: Path, lab: str, text: str, message: str) -> None:
    own = hand_in(tmp_path, "naive")
    done = warpgrade("note", lab, text, "--folder", tmp_path)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (own / "submission.yaml").exists()


def test_a_journey_shows_versions_that_were_judged_with_their_notes(tmp_path: Path) -> None:
    """Two weeks on the emulator: it counts instructions, so the second version's gain is of these."""
    for week, solution in enumerate(["naive", "optimized"], 1):
        lab = hand_in(tmp_path / f"hand-ins{week}/ada", solution)
        note(lab.parent, f"version {week}: 1.5x")
        for file in [*lab.iterdir()]:
            file.rename(lab.parent / file.name)
        lab.rmdir()
        done = warpgrade(
            "batch", tmp_path / f"week{week}", "--lab", "vector_add", "--submissions", tmp_path / f"hand-ins{week}",
            "--cases", "odd", "--backend", "emulator",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    output = tmp_path / "pages"
    done = warpgrade("journey", tmp_path / "week1", tmp_path / "week2", "--output", output)
    assert done.returncode == 0, done.stderr
    page = (output / "1.html").read_text(encoding="utf-8")
    assert "version 1: 1.5x" in page
    assert "expected 1.5 times; measured: " in page
    assert "warp instructions" in page
    scores = json.loads((tmp_path / "week2/scores.json").read_text(encoding="utf-8"))
    assert scores["submissions"][0]["verdict"] == "accepted", "a note changes no verdict"


def test_a_run_without_hand_ins_is_refused(tmp_path: Path) -> None:
    done = warpgrade("journey", ROOT / "reports/published/h100/spmm", "--student", "zoe", "--output", tmp_path / "x")
    assert done.returncode != 0
    assert "expected hand-ins" in done.stderr
    assert not (tmp_path / "x").exists()
