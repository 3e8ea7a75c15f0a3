"""The anonymous list: both languages, cases, shares of the limit, a freeze, and a page that renews itself."""

from __future__ import annotations

import json
import random
from pathlib import Path
from random import Random
from typing import Any

import pytest
from browser import CHROMIUM, LOOK, ask
from conftest import Page
from warpgrade_reports.leaderboard import languages_of, main, render_leaderboard


def ratio(rng: Random, around: float) -> dict[str, float]:
    median = around * rng.uniform(0.9, 1.1)
    return {"median": median, "low": median * 0.98, "high": median * 1.02}


def board(rows: int = 12, **more: dict[str, str] | int | str) -> dict[str, Any]:
    """A list as `warpgrade export` writes it: two languages, ranks of which two are shared."""
    rng = random.Random(5)
    names = [f"teal-otter-{100 + i}" for i in range(rows)]
    made = [
        {
            "name": name,
            "rank": i if i % 4 == 1 else i + 1,  # every fourth shares the rank of the one above
            "shared": i % 4 < 2,
            "points": 100.0 - 2 * i,
            "max_points": 100.0,
            "correct": 9,
            "total": 9,
            "speed": ratio(rng, 3 - i / rows),
            "share": 0.7 - 0.04 * i,
            "language": "Python" if i % 3 == 0 else "CUDA",
            "speedups": [2.0, 3.0],
        }
        for i, name in enumerate(names)
    ]
    cases = [
        {"id": f"arxiv-k{k}", "rows": [ratio(rng, 2) | {"name": n, "language": "CUDA", "share": 0.5} for n in names]}
        for k in (32, 256)
    ]
    return {
        "schema": "warpgrade.leaderboard.v1",
        "run": "r",
        "lab": "spmm",
        "baseline": "cusparse_default",
        "titles": ["Speed-up K=32", "Speed-up K=256"],
        "rows": made,
        "cases": cases,
        **more,
    }


def test_an_older_list_has_nothing_of_the_new() -> None:
    plain = board()
    del plain["cases"]
    for row in plain["rows"]:
        del row["share"], row["language"]
    text = render_leaderboard(plain)
    assert not [w for w in ("share of the limit", "language", "Case by case", "Frozen", "refresh", "None") if w in text]


def test_each_language_has_its_own_ranks_and_a_shared_one_stays_shared() -> None:
    rows = board()["rows"]
    places = languages_of(rows)
    for language, found in places.items():
        mine = [row for row in rows if row["language"] == language]
        for row in mine:
            assert found[row["name"]] == 1 + sum(other["rank"] < row["rank"] for other in mine)
    assert languages_of([row | {"language": "CUDA"} for row in rows]) == {}


def test_cases_shares_and_attempts_are_shown() -> None:
    page = Page(render_leaderboard(board(attempt="best")))
    words = page.words()
    assert "the best attempt is listed" in words and "70 %" in words
    assert len(page.all("details")) == 2 and "arxiv-k256" in words
    assert len(page.all("tr")) == 3 + 12 + 24


def test_a_frozen_list_says_since_when_and_until_when() -> None:
    frozen = {"from": "Thu 19 Feb 2026 23:59 CET", "until": "Fri 20 Feb 2026 23:59 CET"}
    words = Page(render_leaderboard(board(frozen=frozen))).words()
    assert "handed in before Thu 19 Feb 2026 23:59 CET" in words and "from Fri 20 Feb 2026 23:59 CET on" in words


def test_the_page_renews_itself_where_the_policy_says_so_and_can_be_stopped() -> None:
    page = Page(render_leaderboard(board(renew_s=60)))
    assert {"http-equiv": "refresh", "content": "60"} in page.all("meta"), "without a script"
    assert "60000);" in page.source and "every 60 seconds" in page.words()
    assert [box["id"] for box in page.all("input")] == ["renew"]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_a_browser_asks_for_the_page_anew_until_that_is_stopped(tmp_path: Path) -> None:
    text = render_leaderboard(board(renew_s=1))
    assert "location.reload()" in text
    counted = text.replace("location.reload()", "window.asked = (window.asked || 0) + 1")
    (tmp_path / "renews.html").write_text(counted)
    (tmp_path / "stopped.html").write_text(counted.replace(" checked", ""))
    probe = "await new Promise((done) => setTimeout(done, 2500)); return window.asked || 0;"
    places = [(tmp_path / name, 1400) for name in ("renews.html", "stopped.html")]
    assert ask(tmp_path, places, probe) == [2, 0]


def test_the_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "board.json").write_text(json.dumps(board()))
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "spmm.html").write_text("old")
    before = (pages / "spmm.html").open()
    assert main([str(tmp_path / "board.json"), "--output", str(pages / "spmm.html")]) == 0
    assert before.read() == "old", "who reads the old page reads it to its end"
    assert [file.name for file in pages.iterdir()] == ["spmm.html"]
    assert "teal-otter-100" in (pages / "spmm.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_axe_finds_nothing(tmp_path: Path, dark: bool) -> None:
    frozen = {"from": "Thu 19 Feb 2026 23:59 CET", "until": "Fri 20 Feb 2026 23:59 CET"}
    text = render_leaderboard(board(frozen=frozen, attempt="last", renew_s=3600)).replace("<details>", "<details open>")
    (tmp_path / "board.html").write_text(text, encoding="utf-8")
    places = [(tmp_path / "board.html", width) for width in (390, 1400)]
    for look in ask(tmp_path, places, LOOK, dark=dark, axe=True):
        assert (look["axe"], look["content"] <= look["window"]) == ([], True)
        assert look["letters"][0] >= 11.99
