"""What a student sees of `make test` and `warpgrade check` when a stub does not compile or a name is mistyped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, warpgrade

COMPLAINT = "apsp.cu(1): error"


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A student's folder: lab apsp does not compile, lab histogram is not written."""
    (tmp_path / "apsp").mkdir()
    (tmp_path / "apsp/apsp.cu").write_text("int f() { return 1 }\n", encoding="utf-8")
    shutil.copytree(ROOT / "student/histogram", tmp_path / "histogram")
    return tmp_path


def student_test(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs what `make test` runs."""
    command = [str(WARPGRADE.with_name("warpgrade-student-test")), "--backend=emulator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_all_labs_are_tested_and_what_does_not_compile_is_said_once(student: Path) -> None:
    done = student_test(f"--folder={student}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count(COMPLAINT) == 1, done.stdout
    assert "compile_error, as above" in done.stdout
    assert "[  SKIPPED ] histogram.one_id" in done.stdout


def test_a_case_that_one_lab_has_is_found_without_naming_the_lab(student: Path) -> None:
    done = student_test(f"--folder={student}", "--case=one-id")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Running 1 test from 1 test suite" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--case=one-idd",), "no case 'one-idd' in any lab"),
        (("--lab=apsp", "--case=one-id"), "no case 'one-id' in lab apsp"),
        (("--lab=apps",), "no lab named 'apps'"),
        (("--lab=gcn",), "has no folder gcn"),
        (("--lab", "apsp"), "no option --lab"),
    ],
)
def test_nothing_to_test_is_an_error_that_says_what_was_not_found(
    student: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = student_test(f"--folder={student}", *arguments)
    assert done.returncode == 1, done.stdout
    assert words in done.stderr, done.stderr


def test_check_says_once_what_all_cases_share(student: Path) -> None:
    done = warpgrade("check", student / "apsp", "--lab", "apsp", "--backend", "emulator")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count(COMPLAINT) == 1, done.stdout
    assert "compile_error complete-31: as above" in done.stdout


@pytest.mark.parametrize(("given", "wanted"), [((), ""), (("LAB=apsp",), '--lab="$LAB"')])
def test_make_test_takes_all_labs_unless_one_is_named(given: tuple[str, ...], wanted: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "LAB"}
    recipe = subprocess.run(
        ["make", "--dry-run", "test", *given], cwd=ROOT, env=clean, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    assert ("--lab" in recipe) == bool(wanted)
    assert wanted in recipe
