"""Every kind of page in a real browser at the widths of a phone and a desk, light and dark.

Nothing is wider than the window, letters are 12 pixels or more where a student reads, axe-core finds nothing of WCAG's
levels A and AA, and headings skip no level.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from browser import CHROMIUM, LOOK, ask
from conftest import main
from synthetic import SyntheticRun
from synthetic_class import ROOT, SyntheticClass

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
WARPGRADE = ROOT / "build/bin/warpgrade"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A class's pages by kind, with every verdict, a late student, a refusal and long names in them."""
    run = tmp_path_factory.mktemp("pages") / "run"
    made = SyntheticClass(students=7, graphs=["arxiv", "ddi"], faults=0.6)
    made.submissions[1]["late_s"] = 100_000
    made.write(run)
    found = {}
    assert main([str(run)]) == 0
    found["index"] = run / "report/index.html"
    found["submission"] = sorted((run / "report/submissions").glob("*.html"), key=lambda page: page.stat().st_size)[-1]
    emulated = SyntheticRun(backend="emulator", students=8).write(run.parent / "emulated")
    assert main([str(emulated)]) == 0
    found["emulator"] = emulated / "report/index.html"
    if WARPGRADE.exists():
        for command in (["collect", run], ["export", run, "--no-pdf"]):
            subprocess.run([WARPGRADE, *map(str, command)], check=True, capture_output=True, timeout=300)
        export = run / "export"
        found |= {"class": export / "class-report/index.html", "leaderboard": export / "leaderboard.html"}
        found["staff's list"] = export / "feedback/index.html"
        own = sorted((export / "feedback").glob("*/index.html"), key=lambda page: page.stat().st_size)
        found["feedback"] = own[-1]
    return found


@pytest.fixture(scope="module")
def looks(pages, tmp_path_factory):
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


def test_the_browser_shows_what_was_asked_for(looks):
    for (_, width, dark), look in looks.items():
        assert "error" not in look, look
        assert (look["window"], look["dark"]) == (width, dark)


def test_no_page_is_wider_than_a_phone(looks):
    assert {key: look["content"] for key, look in looks.items() if look["content"] > look["window"]} == {}


def test_axe_finds_nothing_of_levels_a_and_aa(looks):
    found = {f"{key} {finding}" for key, look in looks.items() for finding in look["axe"]}
    assert found == set()


def test_headings_skip_no_level(looks):
    for key, look in looks.items():
        levels = look["headings"]
        assert levels[0] == 1, key
        assert all(after <= before + 1 for before, after in pairwise(levels)), (key, levels)


def test_a_student_reads_letters_of_12_pixels_and_more(looks):
    for (kind, *_), look in looks.items():
        if kind in {"feedback", "leaderboard"}:
            assert look["letters"][0] >= 11.99, (kind, look["letters"])
