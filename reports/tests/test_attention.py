"""Who needs a person: one list, the same on the terminal and in the staff's page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from synthetic_class import SyntheticClass
from warpgrade_reports.attention import main
from warpgrade_reports.class_report import main as class_report
from warpgrade_reports.people import Item, Need, text_of

FACTS: dict[str, dict[str, Any]] = {  # what `warpgrade export` tells of somebody, and the reason that this is
    "appeals": {"appeal": "my kernel is right"},
    "refused": {"verdict": "refused", "refusal": "a .rar"},
    "no-source": {"no_source": "no source file; it holds report.pdf"},
    "absent": {"verdict": "not_submitted"},
    "no-kernel": {"no_kernel": ["tiny", "large"]},
    "cpu-only": {"cpu_only": ["large"]},
    "near": {"near": ["arxiv-k32: 1.19 of 1.2"]},
    "claimed": {"claimed_time": "Wed 18 Mar 2026 22:00 CET"},
    "late": {"late": "25 h late"},
    "strangers": {"on_roster": False},
    "by-hand": {"overridden": True, "reason": "appeal 3"},
}


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = SyntheticClass(students=24, graphs=["arxiv"]).write(tmp_path_factory.mktemp("class") / "run")
    usual: dict[str, Any] = {"points": 1, "max_points": 100, "verdict": "accepted"}
    people = [{"id": reason, "name": f"Person of {reason}"} | usual | facts for reason, facts in FACTS.items()]
    table = {"schema": "warpgrade.people.v1", "made_from": "a test", "people": people}
    (folder.parent / "people.json").write_text(json.dumps(table))
    return folder


def listed(folder: Path, capsysbinary: pytest.CaptureFixture[bytes], *options: str) -> str:
    assert main([str(folder), "--people", str(folder.parent / "people.json"), *options]) == 0
    return capsysbinary.readouterr().out.decode()


def test_every_reason_is_on_the_terminal_with_its_people_and_notes(
    class_folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    needs = {need["reason"]: need for need in json.loads(listed(class_folder, capsysbinary, "--json"))["needs"]}
    assert set(FACTS) <= set(needs)
    for reason in FACTS:
        assert [person["name"] for person in needs[reason]["people"]] == [f"Person of {reason}"], reason
    assert needs["no-kernel"]["people"][0]["note"] == "tiny, large"
    text = listed(class_folder, capsysbinary)
    assert "CPU only (1): The host wrote the outputs last" in text
    assert "  Person of near: arxiv-k32: 1.19 of 1.2\n" in text


def test_the_staffs_page_has_the_same_list(class_folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    needs = json.loads(listed(class_folder, capsysbinary, "--json"))["needs"]
    output, people = class_folder.parent / "report", class_folder.parent / "people.json"
    assert class_report([str(class_folder), "--output", str(output), "--no-pdf", "--people", str(people)]) == 0
    page = (output / "index.html").read_text(encoding="utf-8")
    for need in needs:
        section = page.split(f'<section id="{need["reason"]}">')[1].split("</section>")[0]
        assert section.count("<li>") == len(need["people"]), need


def test_a_long_list_ends_with_how_many_more_there_are_and_a_name_stays_in_its_line() -> None:
    needs = [Need("late", "Late", "Look.", tuple(Item(f"a\n{i}", "", "") for i in range(30)))]
    lines = text_of(needs).splitlines()
    assert lines[0] == "Late (30): Look." and lines[1] == "  a 0" and lines[-1] == "  and 18 more"
    assert text_of([]) == "nobody in this class needs a person\n"


def test_a_file_that_is_no_list_of_people_is_told(
    class_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.json").write_text("[]")
    assert main([str(class_folder), "--people", str(tmp_path / "people.json")]) == 1
    assert "people.json" in capsys.readouterr().err
