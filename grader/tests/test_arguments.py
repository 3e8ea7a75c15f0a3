"""Wrong words on the command line: exit code 1, the word is named, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

NAIVE = ROOT / "reference/spmm/naive"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "warpgrade has no command 'nonsense'"),
        (("data", "nonsense"), "data has no command 'nonsense'"),
        (("grade", NAIVE, "--jobs", "-3"), "--jobs"),
        (("grade", NAIVE, "--speed-budget", "-1"), "--speed-budget"),
        (("grade", NAIVE, "--checks", "racecheck,zap"), "no check is named 'zap'; the checks are: memcheck"),
        (("check", NAIVE, "--backend", "metal"), "no backend 'metal'"),
        (("sweep", NAIVE), "--param"),
        (("calibrate", ".", "--share", "7"), "--share"),
    ],
    ids=lambda value: " ".join(str(word) for word in value[:1] + value[2:]) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_are_named(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = warpgrade(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert words in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_executor_is_said_before_anything_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_EXECUTOR_DIRECTORY", str(tmp_path / "none"))
    done = warpgrade("grade", NAIVE, "--backend", "emulator", "--run", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "warpgrade-executor is not there" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_students_test_without_a_stub_or_a_backend_is_no_success(tmp_path: Path) -> None:
    for arguments, words in (
        (("spmm", "--folder", tmp_path), "has no folder spmm"),
        (("--backend=metal",), "no backend 'metal'"),
    ):
        done = warpgrade("test", *arguments, timeout=60)
        assert done.returncode == 1
        assert words in done.stderr
        assert not done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 1, "Usage: ./warpgrade [OPTIONS] SUBCOMMAND"),
        (("help", "grade"), 0, "Usage: ./warpgrade grade [OPTIONS]"),
        (("report",), 1, "error: run is required; `./warpgrade report --help` shows what it takes"),
        (("grades", "override", "s1"), 1, "`./warpgrade grades override --help` shows what it takes"),
        (("submit", "spmm", "--lab", "spmm"), 1, "give the folder that holds spmm.cu, for instance student/spmm"),
        (("test", "student/spmm"), 1, "a lab's name is one word, without a folder before it"),
    ],
)
def test_a_wrong_command_is_told_what_to_type_instead(words: tuple[str, ...], code: int, said: str) -> None:
    done = warpgrade(*words, env=os.environ | {"WARPGRADE_COMMAND": "./warpgrade"})
    assert done.returncode == code
    assert said in (done.stderr if code else done.stdout)
    assert code == 0 or done.stdout == ""
