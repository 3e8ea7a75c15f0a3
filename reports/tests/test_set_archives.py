"""Published sets are archives: what is packed comes out again, and stays as it is while its files do."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PUBLISHED
from warpgrade_bench import published
from warpgrade_bench.set_archives import pack, unpack, unpacked
from warpgrade_reports.reading import read_run


@pytest.fixture
def packed(make_run: Callable[..., Any], tmp_path: Path) -> tuple[Path, Path, Path]:
    """A root with one packed set, the run that it was made of, and the archive."""
    run = make_run(name="from/h100/spmm/steps", students=0, kind="ladder", faults=0)
    assert published.main([str(tmp_path / "root"), "--pack", str(tmp_path / "from")]) == 0
    return tmp_path / "root", run, tmp_path / "root/h100/spmm.tar.xz"


def test_a_packed_set_is_read_as_its_folder_is(packed: tuple[Path, Path, Path], tmp_path: Path) -> None:
    root, run, _ = packed
    with unpacked(root) as sets:
        assert read_run(sets / "h100/spmm/steps") == read_run(run)
        assert list(published.sets_below(sets)) == ["h100/spmm/steps"]
    assert not sets.exists()
    assert published.main([str(root), "--unpack", str(tmp_path / "all")]) == 0
    assert (tmp_path / "all/h100/spmm/steps/records.jsonl").read_bytes() == (run / "records.jsonl").read_bytes()


def test_folders_that_nobody_packed_are_read_where_they_lie(packed: tuple[Path, Path, Path]) -> None:
    root = packed[1].parents[2]
    with unpacked(root) as sets:
        assert sets == root
        assert list(published.sets_below(sets)) == ["h100/spmm/steps"]


@pytest.mark.parametrize("damage", [lambda whole: whole[:300], lambda _: b"", lambda whole: whole[:300] + b"x" * 300])
def test_a_damaged_archive_is_named(
    packed: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[..., Any]
) -> None:
    root, _, file = packed
    file.write_bytes(damage(file.read_bytes()))
    assert published.main([str(root), "--unpack", str(tmp_path / "all")]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"error: {file}: expected an archive of a set")
    assert "Traceback" not in told


def test_an_archive_says_nothing_of_when_and_where_it_was_made(packed: tuple[Path, Path, Path]) -> None:
    _, run, file = packed
    before = file.read_bytes()
    for path in run.iterdir():
        os.utime(path, (1, 1))
        path.chmod(0o755 if path.is_dir() else 0o600)
    file.unlink()
    assert pack(run.parent, file)
    assert file.read_bytes() == before
    assert not pack(run.parent, file), "the same files: it is left alone"
    (run / "run.json").write_text("{}", encoding="utf-8")
    assert pack(run.parent, file)
    assert file.read_bytes() != before


def test_tar_itself_reads_it(packed: tuple[Path, Path, Path]) -> None:
    listed = subprocess.run(["tar", "-tf", str(packed[2])], capture_output=True, text=True, check=True).stdout.split()
    assert "steps/records.jsonl" in listed
    assert not [name for name in listed if name.startswith(("/", ".."))]


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "root/h100").mkdir(parents=True)
    (tmp_path / "x").write_text("x", encoding="utf-8")
    with tarfile.open(tmp_path / "root/h100/spmm.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "x", "../../../outside")
    with pytest.raises(tarfile.FilterError):
        unpack(tmp_path / "root", tmp_path / "into")
    assert not (tmp_path / "outside").exists()


def test_a_page_s_plots_are_those_that_are_drawn(tmp_path: Path) -> None:
    page = "![K = 32](../../reports/published/h200/spmm-k32.png) [x](../../reports/published/h200/spmm-classes-k8.png)"
    assert published.plots_on(page, tmp_path / "h200/spmm") == ["k32", "classes-k8"]


def test_what_a_course_needs_imports_nothing_that_publishes_our_own_figures() -> None:
    sources = (PUBLISHED.parent / "warpgrade_reports").glob("*.py")
    assert [path.name for path in sources if "warpgrade_bench" in path.read_text(encoding="utf-8")] == []
