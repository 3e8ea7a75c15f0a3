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
    finding = next(f for f in printed["counters"]["findings"] if f["problem"] == "uncoalesced")
    store = line_of(NAIVE / "spmm.cu", "] = sum;")
    assert {p["line"]: p["text"] for p in finding["places"]}[
        store
    ] == "32.0 sectors per request where 4.0 would be enough"
    assert json.loads((tmp_path / "profile.json").read_text(encoding="utf-8")) == printed
    assert "uncoalesced access" in (tmp_path / "profile.md").read_text(encoding="utf-8")


def test_it_prints_the_figures_beside_the_source() -> None:
    done = warpgrade("profile", NAIVE, *CASE, "--full")
    assert done.returncode == 0, done.stderr
    store = next(line for line in done.stdout.splitlines() if line.endswith("] = sum;"))
    assert "32.0 (4.0)" in store
    assert "#include" in done.stdout


def test_a_case_that_is_none_or_many_is_refused() -> None:
    for name, words in (("nowhere", "no case"), ("public", "names 16 cases; give the id of one case")):
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


def test_it_estimates_the_time_on_a_gpu_and_says_that_it_is_an_estimate() -> None:
    """Naive takes several times as long as the ladder's best: the estimates beside each other say so."""
    done = warpgrade(
        "profile", ROOT / "reference/spmm/steps/04_row_split", *CASE[2:], "--case", "synth-hub-k32", "--json"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["estimate"]
    assert told["device"] == "h200"
    assert told["low_us"] < told["us"] < told["high_us"]
    assert told["over_naive"]["low"] < told["over_naive"]["ratio"] < told["over_naive"]["high"]
    text = warpgrade("profile", NAIVE, *CASE).stdout
    assert "Estimate, not a measurement" in text
    assert "NVIDIA H200" in text


def test_no_estimate_is_made_where_none_is_asked_for_or_the_device_is_unknown() -> None:
    done = warpgrade("profile", NAIVE, *CASE, "--json", "--device", "none")
    assert "estimate" not in json.loads(done.stdout)
    assert "launch_groups" not in json.loads(done.stdout)["counters"]
    unknown = warpgrade("profile", NAIVE, *CASE, "--device", "abacus")
    assert unknown.returncode == 1
    assert "no rates of 'abacus'" in unknown.stderr
