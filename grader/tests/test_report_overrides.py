"""`warpgrade report` shows the points that count: a person's where a person set them, with the computed ones."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import SyntheticClass


@pytest.fixture
def overridden(tmp_path: Path) -> Path:
    """A run in a gradebook that sets the points of s0001."""
    folder: Path = SyntheticClass(students=3, graphs=["ddi"]).write(tmp_path / "run")
    book = tmp_path / "book.sqlite"
    done = warpgrade("collect", folder, "--gradebook", book)
    assert done.returncode == 0, done.stderr
    change = ["--points", "61.5", "--reason", "appeal 7 <b>", "--author", "A. Person"]
    done = warpgrade("grades", "override", "s0001", "--lab", "spmm", *change, "--gradebook", book)
    assert done.returncode == 0, done.stderr
    return folder


def computed(folder: Path) -> str:
    """The computed points of s0001, as a page writes them."""
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["submissions"]
    return next(f"{s['points']:.1f}" for s in scores if s["id"] == "s0001")


def test_points_that_a_person_set_stand_in_place_of_the_computed_ones(overridden: Path) -> None:
    done = warpgrade("report", overridden)
    assert done.returncode == 0, done.stderr
    page = (overridden / "report/index.html").read_text(encoding="utf-8")
    remark = f"set by a person; computed {computed(overridden)}"
    assert re.search(rf'<b>61\.5</b> <small>/ 100</small> <small class="by-hand" [^>]*>{re.escape(remark)}', page)
    assert page.count("set by a person; computed") == 1
    assert "A person set those of 1 submission" in page
    assert "book.sqlite at entry" in page
    assert f"| 61.5 ({remark}) |" in (overridden / "report/table.md").read_text(encoding="utf-8")
    own = [p.read_text(encoding="utf-8") for p in (overridden / "report/submissions").iterdir()]
    assert sum(remark in text and "appeal 7 &lt;b&gt;" in text for text in own) == 1


def test_a_gradebook_that_is_gone_is_not_passed_over(overridden: Path) -> None:
    book = overridden.parent / "book.sqlite"
    moved = book.rename(overridden.parent / "moved.sqlite")
    refused = warpgrade("report", overridden)
    assert refused.returncode == 1
    assert "which is not there: its overrides would be lost" in refused.stderr
    assert not (overridden / "report").exists()
    done = warpgrade("report", overridden, "--gradebook", moved)
    assert done.returncode == 0, done.stderr
    assert "set by a person" in (overridden / "report/index.html").read_text(encoding="utf-8")


def test_the_computed_points_alone_say_that_they_are(overridden: Path) -> None:
    done = warpgrade("report", overridden, "--without-overrides")
    assert done.returncode == 0, done.stderr
    page = (overridden / "report/index.html").read_text(encoding="utf-8")
    assert "set by a person; computed" not in page
    assert "is left out (--without-overrides)" in page
    # A run that is in no gradebook has nothing to say of one.
    (overridden / "gradebook.json").unlink()
    assert warpgrade("report", overridden, "--without-overrides").returncode == 0
    assert "left out (--" not in (overridden / "report/index.html").read_text(encoding="utf-8")
