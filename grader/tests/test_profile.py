"""`warpgrade profile`: the whole way from a kernel's flaw to the line that has it."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import ROOT, warpgrade

NAIVE = ROOT / "reference/spmm/naive"
CASE = ("--case", "synth-identity-k32", "--allow-unsandboxed")


def line_of(source: Path, text: str) -> int:
    lines = source.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_it_names_the_line_of_an_uncoalesced_access(tmp_path: Path) -> None:
    """A thread a row stores a column: 32 sectors where 4 would do, at the store's line."""
    done = warpgrade("profile", NAIVE, *CASE, "--json", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["outcome"]["verdict"] == "accepted"
    finding = next(f for f in printed["counters"]["findings"] if f["disease"] == "uncoalesced")
    store = line_of(NAIVE / "spmm.cu", "] = sum;")
    assert {p["line"]: p["text"] for p in finding["places"]}[store] == "32.0 sectors a request where 4.0 would do"
    assert json.loads((tmp_path / "profile.json").read_text(encoding="utf-8")) == printed
    assert "uncoalesced access" in (tmp_path / "profile.md").read_text(encoding="utf-8")


def test_it_prints_the_figures_beside_the_source() -> None:
    done = warpgrade("profile", NAIVE, *CASE, "--full")
    assert done.returncode == 0, done.stderr
    store = next(line for line in done.stdout.splitlines() if line.endswith("] = sum;"))
    assert "32.0 (4.0)" in store
    assert "#include" in done.stdout


def test_a_case_that_is_none_or_many_is_refused() -> None:
    for name, words in (("nowhere", "no case"), ("public", "names 16 cases; give one")):
        done = warpgrade("profile", NAIVE, "--case", name)
        assert done.returncode == 1
        assert words in done.stderr


def test_a_class_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    assert "give the folder of one" in warpgrade("profile", ROOT / "grader/tests/demo_class", *CASE).stderr
    missing = warpgrade("profile", tmp_path / "nobody", *CASE)
    assert missing.returncode == 1
    assert "no such folder" in missing.stderr


def test_a_submission_that_fails_says_so_and_how_to_go_on() -> None:
    done = warpgrade("profile", ROOT / "grader/tests/submissions/compile_error/syntax_error", *CASE)
    assert done.returncode == 3
    assert 'expected a ";"' in done.stdout
    assert "warpgrade check" in done.stdout
    assert "nothing was counted" in done.stdout
