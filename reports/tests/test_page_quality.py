"""Every kind of page in a real browser at the widths of a phone and a desk, light and dark, and on paper.

Nothing is wider than the window, letters are 12 pixels or more, also in a chart on a phone, axe-core finds nothing of
WCAG's levels A and AA, headings skip no level, and the demo's class prints on six pages.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, LOOK, ask, browse
from synthetic import SyntheticRun
from synthetic_class import ROOT, SyntheticClass
from test_mutants_page import mutants_report, page_of
from warpgrade_reports.class_report import find_similar, save_pairs
from warpgrade_reports.earlier import keep_fingerprints
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
WARPGRADE = ROOT / "build/bin/warpgrade"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of page that the project makes, with every verdict, a late student, a refusal and long names."""
    folder = tmp_path_factory.mktemp("pages")
    run = made_class(folder / "run")
    found = report_of(run, "")
    found |= report_of(SyntheticRun(backend="emulator", students=8).write(folder / "emulated"), "emulator's ")
    ladder = SyntheticRun(students=0, kind="ladder", graphs=["arxiv", "ddi"]).write(folder / "ladder")
    found["ladder"] = report_of(ladder, "")["index"]
    found |= pairs_of(run, folder)
    page_of(folder, mutants_report())
    found["mutants"] = folder / "page.html"
    if WARPGRADE.exists():
        ways = folder / "ways"
        commands = (
            ["collect", run],
            ["export", run, "--no-pdf", "--format", "leaderboard,feedback,class-report"],
            ["journey", run, "--output", ways],
        )
        for command in commands:
            subprocess.run([WARPGRADE, *map(str, command)], check=True, capture_output=True, timeout=300)
        found |= {"way there": ways / "1.html", "ways there": ways / "index.html"}
        export = run / "export"
        found |= {"class": export / "class-report/index.html", "leaderboard": export / "leaderboard.html"}
        found["staff's list"] = export / "feedback/index.html"
        for kind, student in {"late": "s0001", "refused": "s0002"}.items():
            found[f"feedback, {kind}"] = export / f"feedback/{student}/index.html"
        own = sorted((export / "feedback").glob("*/index.html"), key=lambda page: page.stat().st_size)
        found["feedback"] = own[-1]
    return found


def made_class(folder: Path) -> Path:
    """A class of seven, one late, one refused, one who must be faster before points are earned."""
    made = SyntheticClass(students=7, graphs=["arxiv", "ddi"], faults=0.6)
    made.run["policy"] = made.run["policy"].replace("gate: correct", "gate: {correct, faster_than: {naive: 1000}}")
    made.submissions[1]["late_s"] = 100_000
    made.submissions[2]["refused"] = "unsafe_name"
    attempt = next(a for a in made.class_list["attempts"] if a["submission"] == "s0002")
    attempt |= {
        "status": "refused",
        "refusal": {"reason": "unsafe_name", "message": "../x leads out of the archive", "next_step": "pack it again"},
    }
    return made.write(folder)


def pairs_of(run: Path, folder: Path) -> dict[str, Path]:
    """A pair of programs beside each other, and one of which fingerprints alone were kept."""
    kept = folder / "kept.json"
    keep_fingerprints(find_similar(run, "spmm", None).comparison, run, kept)
    save_pairs(read_run(run), find_similar(run, "spmm", None, [kept]), folder)
    return {"pair": folder / "similar/1.html", "kept pair": folder / "similar/2.html"}


def report_of(run: Path, of: str) -> dict[str, Path]:
    """A run's index and the largest of its submissions' pages, without the plots that the command makes as well."""
    for name, text in render_pages(read_run(run)).items():
        page = run / "report" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8", errors="replace")
    found = {f"{of}index": run / "report/index.html"}
    own = sorted((run / "report/submissions").glob("*.html"), key=lambda page: page.stat().st_size)
    return found | ({f"{of}submission": own[-1]} if own else {})


@pytest.fixture(scope="module")
def looks(
    pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, int, bool], dict[str, Any]]:
    """What the browser says of each page: by kind, width and darkness."""
    places = [(page, width) for page in pages.values() for width in (390, 1400)]
    names = [(kind, width) for kind in pages for width in (390, 1400)]
    folders = {dark: tmp_path_factory.mktemp("browser") for dark in (False, True)}
    with ThreadPoolExecutor() as threads:  # a browser for light and one for dark, side by side
        begun = {d: threads.submit(ask, at, places, LOOK, dark=d, axe=True) for d, at in folders.items()}
    return {
        (*name, dark): answer
        for dark, answers in begun.items()
        for name, answer in zip(names, answers.result(), strict=True)
    }


def test_the_browser_shows_what_was_asked_for(
    looks: dict[tuple[str, int, bool], dict[str, Any]],
) -> None:
    for (_, width, dark), look in looks.items():
        assert "error" not in look, look
        assert (look["window"], look["dark"]) == (width, dark)


def test_no_page_is_wider_than_a_phone(looks: dict[tuple[str, int, bool], dict[str, Any]]) -> None:
    assert {key: look["content"] for key, look in looks.items() if look["content"] > look["window"]} == {}


def test_axe_finds_nothing_of_levels_a_and_aa(
    looks: dict[tuple[str, int, bool], dict[str, Any]],
) -> None:
    found = {f"{key} {finding}" for key, look in looks.items() for finding in look["axe"]}
    assert found == set()


def test_headings_skip_no_level(looks: dict[tuple[str, int, bool], dict[str, Any]]) -> None:
    for key, look in looks.items():
        levels = look["headings"]
        assert levels[0] == 1, key
        assert all(after <= before + 1 for before, after in pairwise(levels)), (key, levels)


def test_a_student_reads_letters_of_12_pixels_and_more(
    looks: dict[tuple[str, int, bool], dict[str, Any]],
) -> None:
    for (kind, *_), look in looks.items():
        if kind == "leaderboard" or kind.startswith("feedback"):
            assert look["letters"][0] >= 11.99, (kind, look["letters"])


def test_charts_have_letters_of_12_pixels_on_a_phone(
    looks: dict[tuple[str, int, bool], dict[str, Any]],
) -> None:
    small = {k: look["chart_letters"] for (k, width, _), look in looks.items() if width == 390}
    assert {kind: letters for kind, letters in small.items() if letters[0] < 11.99} == {}


def test_the_demos_class_of_eight_prints_on_six_pages(pages: dict[str, Path], tmp_path: Path) -> None:
    """Eight students and two of the staff's solutions on 26 cases, as the demo judges them without a GPU."""
    pdf = tmp_path / "page.pdf"
    browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", pages["emulator's index"].as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) <= 6
