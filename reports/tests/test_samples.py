"""Records whose samples nobody wants: their text is left out before the rest is parsed, and sealed all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import known
from synthetic import SyntheticRun, canonical, sealed
from warpgrade_reports.reading import read_run
from warpgrade_reports.samples import has_no_samples, without_samples
from warpgrade_reports.source import ReportInputError, parse_node


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SyntheticRun("cuda", 3, 1, "samples", ["arxiv"]).write(tmp_path_factory.mktemp("samples") / "run")


def lines_of(folder: Path) -> list[str]:
    return (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()


def test_what_is_left_is_the_record_without_its_samples(run_folder: Path) -> None:
    timed = 0
    for line in lines_of(run_folder):
        short = without_samples(line.encode())
        if short is None:
            continue
        whole = json.loads(line)
        assert json.loads(line)["timing"]["samples"], line
        whole["timing"]["samples"] = {}
        assert json.loads(short) == whole
        timed += 1
    assert timed > 0


def test_both_ways_to_read_give_the_same_run_but_for_the_samples(run_folder: Path) -> None:
    short, whole = read_run(run_folder, samples=False), read_run(run_folder)
    for one, other in zip(short.submissions, whole.submissions, strict=True):
        for case, full in zip(one.cases, other.cases, strict=True):
            assert case.verdict == full.verdict and case.ratios == full.ratios and case.checksum == full.checksum
            if full.timing is not None:
                assert known(case.timing).time_us == full.timing.time_us
                assert full.timing.samples and not known(case.timing).samples


@pytest.mark.parametrize(
    "record",
    [
        {"message": '"samples":{"a":1}', "timing": {"samples": {"a": [1, 2]}}},
        {"message": '{"samples":{', "timing": {}},
        {'x"samples': {"a": 1}, "timing": {"samples": {"b": [1]}}},
        {"samples": {"a": 1}, "timing": {"samples": {"b": [1]}}},
        {"samples": {"a": 1}, "timing": {"median_us": 1}},
        {"samples": {"a": 1}, "timing": {"samples": {}}},
        {'a"samples': {"b": 1}, "timing": {"samples": {}}},
        {'a"samples': {"b": 1}, "timing": {"median_us": 1}},
        {"timing": {"samples": {"a}": [1], "{": {"b": [2]}}}},
        {"timing": {"samples": {'a"}': [1]}, "stopped_by": "steady"}},
        {"timing": {"samples": {"a": {"b": [{"c": 1}, {}]}}, "stopped_by": "}"}},
        {"timing": {"samples": []}},
        {"timing": {"samples": {}}},
    ],
)
def test_no_other_field_and_no_text_is_taken_for_the_samples(record: dict[str, Any]) -> None:
    short = without_samples(canonical(record).encode())
    if short is None or not has_no_samples(json.loads(short)):
        return  # then all of it is read
    record["timing"]["samples"] = {}
    assert json.loads(short) == record


def test_a_sample_that_was_changed_is_seen_though_it_is_not_parsed(run_folder: Path, tmp_path: Path) -> None:
    lines = lines_of(run_folder)
    place = next(i for i, line in enumerate(lines) if '"submission_us":[' in line)
    lines[place] = lines[place].replace('"submission_us":[', '"submission_us":[7,', 1)
    for name in ("run.json", "scores.json"):
        (tmp_path / name).write_bytes((run_folder / name).read_bytes())
    (tmp_path / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ReportInputError, match=f"line {place + 1}: expected the checksum of what it says"):
        read_run(tmp_path, samples=False)


@pytest.mark.parametrize("text", ["bell \b", "form \f", "carriage\rreturn", "a\r\nb", "nul \0", "\u202e"])
def test_controls_that_json_escapes_are_made_plain_before_anybody_reads_them(text: str) -> None:
    node = parse_node(canonical(sealed({"message": text})), "here", "next")
    assert node.text("message") == node.value["message"]
    assert not set(node.value["message"]) & set("\b\f\r\0\u202e")
