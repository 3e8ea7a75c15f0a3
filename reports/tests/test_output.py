"""The report's folder: whole or not at all, and never in place of something else."""

from __future__ import annotations

import filecmp
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warpgrade_reports import png, publishing
from warpgrade_reports.__main__ import main


def test_an_earlier_report_is_replaced(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=1)
    assert main([str(folder)]) == 0
    stale = folder / "report/plots/stale.png"
    stale.write_bytes(b"old")
    assert main([str(folder)]) == 0
    assert not stale.exists()
    assert (folder / "report/index.html").is_file()


def test_a_folder_with_other_files_is_left_alone(
    make_run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter1.tex").write_text("precious")
    assert main([str(make_run(students=1)), "--output", str(other)]) == 1
    assert "thesis: expected no such folder, an empty one or an earlier report" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["chapter1.tex"]


def test_nothing_is_left_behind_when_rendering_fails(
    make_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(students=1)
    assert main([str(folder)]) == 0
    before = (folder / "report/index.html").read_bytes()

    def run_out_of_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(png, "save_matrix", run_out_of_space)
    assert main([str(folder)]) == 1
    assert (folder / "report/index.html").read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_what_a_killed_process_left_is_removed_later(tmp_path: Path) -> None:
    long_ago = time.time() - 7200
    for name, inside in (
        (".feedback-0ldfiles", "feedback"),
        (".feedback-mypapers", "thesis"),
        (".feedback-runsnow_", "before"),
    ):
        (tmp_path / name / inside).mkdir(parents=True)
        if name != ".feedback-runsnow_":
            os.utime(tmp_path / name, (long_ago, long_ago))
    publishing.sweep(tmp_path, ".feedback-")
    assert {path.name for path in tmp_path.iterdir()} == {".feedback-mypapers", ".feedback-runsnow_"}


def test_the_same_records_give_the_same_bytes(make_run: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_run(students=2)
    for name in ("one", "two"):
        assert main([str(folder), "--output", str(tmp_path / name)]) == 0
    names = sorted(str(p.relative_to(tmp_path / "one")) for p in (tmp_path / "one").rglob("*") if p.is_file())
    same, different, broken = filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", names, shallow=False)
    assert (different, broken) == ([], [])
    assert len(same) == len(names) >= 9


def test_the_output_may_be_made_with_its_parents(make_run: Callable[..., Any], tmp_path: Path) -> None:
    target = tmp_path / "site/terms/spring"
    assert main([str(make_run(students=1)), "--output", str(target)]) == 0
    assert (target / "table.csv").is_file()
