"""The page of `labs mutants --page`: what a lab's cases do not see, with source lines and reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from warpgrade_reports.mutants import main


def mutant(line: int, **more: Any) -> dict[str, Any]:
    """One as the command prints it."""
    return {
        "solution": "naive",
        "file": "dot.cu",
        "line": line,
        "source": "if (i < n) sum += x[i] * y[i];",
        "inlined_from": "",
        "operator": "boundary",
        "ordinal": 1,
        "mutant": f"boundary:_Z3dot:{line}",
        "kernel": "dot",
        "instruction": "setp.lt.s32 %p1, %r1, %r2;",
        **more,
    }


def mutants_report(**more: Any) -> dict[str, Any]:
    """A report with one mutant of each kind, and three refused ones."""
    accepted = {"passed": ["one", "odd"], "shows_in": "case odd: other bits, accepted", "wrong": False}
    return {
        "schema": "warpgrade.mutants.v1",
        "lab": "dot",
        "seed": 7,
        "toolkit": "13.0.88",
        "shapes": 200,
        "cases": ["one", "odd"],
        "listed": 40,
        "tried": 8,
        "refused": 3,
        "survivors": [
            mutant(8, **accepted),
            mutant(12, **{**accepted, "wrong": True, "shows_in": "random shape n: 77: wrong_answer: cell 3"}),
        ],
        "explained": [mutant(9, **accepted, reason="an order of additions that the contract allows")],
        "unchanged": [mutant(10)],
        "unreached": [mutant(11), mutant(11, operator="negated")],
        "not_judged": [],
        **more,
    }


def page_of(folder: Path, report: dict[str, Any]) -> str:
    """The page's text."""
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert main([str(folder / "report.json"), "--output", str(folder / "page.html")]) == 0
    return (folder / "page.html").read_text(encoding="utf-8")


def section(page: str, name: str) -> str:
    """What stands below a heading."""
    return page[page.index(f'<h2 id="{name}"') :].split("<h2", 2)[1]


def test_each_accepted_mutant_stands_with_its_line_what_it_passed_and_where_it_shows(tmp_path: Path) -> None:
    page = page_of(tmp_path, mutants_report())
    survivors = section(page, "survivors")
    assert "naive/dot.cu:8" in survivors
    assert "if (i &lt; n) sum += x[i] * y[i];" in survivors
    assert "setp.lt.s32 %p1, %r1, %r2;" in survivors
    assert "2 of 2" in survivors
    assert "case odd: other bits, accepted" in survivors
    assert "naive/dot.cu:9" not in survivors
    explained = section(page, "explained")
    assert "an order of additions that the contract allows" in explained
    assert "naive/dot.cu:9" in explained


def test_the_share_is_of_those_that_change_an_output(tmp_path: Path) -> None:
    assert re.search(r"<b>50\.0 %</b><span>refused, of 6 that", page_of(tmp_path, mutants_report()))
    none = mutants_report(refused=0, survivors=[], explained=[])
    assert "<b>–</b><span>refused, of 0 that" in page_of(tmp_path, none)


def test_a_mutant_that_is_wrong_in_a_shape_comes_first_and_asks_for_a_case(tmp_path: Path) -> None:
    page = page_of(tmp_path, mutants_report())
    survivors = section(page, "survivors")
    assert survivors.index("dot.cu:12") < survivors.index("dot.cu:8")
    assert "wrong: </strong>random shape n: 77" in survivors
    assert "A case is missing." in page
    assert "A case is missing." not in page_of(tmp_path, mutants_report(survivors=[]))


def test_a_line_that_no_case_gets_to_stands_once_with_its_mutants(tmp_path: Path) -> None:
    unreached = section(page_of(tmp_path, mutants_report()), "unreached")
    assert unreached.count("naive/dot.cu:11") == 1
    assert '<td class="n">2</td>' in unreached


def test_a_kernel_that_no_case_launches_is_named(tmp_path: Path) -> None:
    never = [{"solution": "optimized", "kernel": "dot_of_long<4>", "mutants": 31}]
    named = section(page_of(tmp_path, mutants_report(never_launched=never)), "never-launched")
    assert "dot_of_long&lt;4&gt;" in named
    assert '<td class="n">31</td>' in named
    assert "None." in section(page_of(tmp_path, mutants_report()), "never-launched")  # a report of an earlier version


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "warpgrade.case.v1"}', '{"schema": "warpgrade.mutants.v1"}'])
def test_what_is_no_report_is_told(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "report.json"), "--output", str(tmp_path / "page.html")]) == 1
    assert "report.json" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
