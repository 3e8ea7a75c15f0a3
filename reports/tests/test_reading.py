"""What is read, and what is refused: always one line that says where, what was expected and what to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import render
from synthetic import SyntheticRun, canonical, sealed
from warpgrade_reports.__main__ import main


def refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([str(folder)]) == 1
    assert not (folder / "report").exists()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, "one line"
    assert "; next: " in lines[0]
    return lines[0]


def rewrite_record(folder: Path, index: int, change: Callable[..., Any], *, seal: bool = True) -> None:
    path = folder / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[index])
    change(record)
    lines[index] = canonical(sealed(record) if seal else record)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rewrite_json(path: Path, change: Callable[..., Any]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_truncated_line_is_named_with_file_and_line(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(students=2)
    path = folder / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:4], lines[4][: len(lines[4]) // 2]]), encoding="utf-8")
    assert f"{path}, line 5: expected one JSON object" in refusal(folder, capsys)


def test_a_record_that_was_changed_after_it_was_written_is_refused(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(students=2)
    rewrite_record(folder, 3, lambda r: r["outcome"].update(verdict="accepted", message="all is well"), seal=False)
    message = refusal(folder, capsys)
    assert "records.jsonl, line 4" in message
    assert "checksum" in message


def test_a_number_spelled_as_the_judge_spells_it_keeps_its_checksum(make_run: Callable[..., Any]) -> None:
    # C++ writes 1e15 and 1e-07 where Python writes 1000000000000000.0 and 1e-07: the text counts, not the value.
    folder = make_run(students=1)
    path = folder / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[0])
    del record["checksum"]
    text = canonical(record | {"wall_s": 12345678.5}).replace("12345678.5", "1e+15")
    checksum = hashlib.sha256(text.encode()).hexdigest()
    head, tail = text.split(',"device"', 1)
    lines[0] = f'{head},"checksum":"{checksum}","device"{tail}'
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main([str(folder)]) == 0


def test_a_line_that_was_only_formatted_anew_is_still_whole(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=1)
    path = folder / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]), indent=None, separators=(", ", ": "), ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main([str(folder)]) == 0


def test_records_without_a_checksum_are_counted_in_a_notice(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=2)
    rewrite_record(folder, 0, lambda r: r.pop("checksum"), seal=False)
    rewrite_record(folder, 1, lambda r: r.pop("checksum"), seal=False)
    assert "Records without a checksum: 2." in render(folder).words()


@pytest.mark.parametrize("name", ["run.json", "scores.json", "records.jsonl"])
def test_a_missing_file_is_named(make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str], name: str) -> None:
    folder = make_run(students=1)
    (folder / name).unlink()
    assert name in refusal(folder, capsys)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere: expected a run folder" in refusal(tmp_path / "nowhere", capsys)


def test_another_format_of_records_is_refused(make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(students=1)
    rewrite_record(folder, 0, lambda r: r.update(schema="warpgrade.case.v2"))
    assert 'line 1: expected schema "warpgrade.case.v1", got "warpgrade.case.v2"' in refusal(folder, capsys)


def test_a_value_of_the_wrong_kind_is_named_with_its_field(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(students=1)
    rewrite_record(folder, 2, lambda r: r.update(wall_s="long"))
    assert 'line 3: expected a number in "wall_s", got a text' in refusal(folder, capsys)


def test_a_submission_without_a_score_is_refused(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(students=1)
    rewrite_json(folder / "scores.json", lambda scores: scores["submissions"].pop())
    assert 'expected a score of submission "optimized"' in refusal(folder, capsys)


def test_scores_of_other_records_are_refused(make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(students=1, faults=0)
    rewrite_record(folder, 0, lambda r: r["outcome"].update(verdict="wrong_answer"))
    assert 'expected the verdict "accepted" that scores.json has, got "wrong_answer"' in refusal(folder, capsys)


def test_two_records_of_one_case_are_refused(make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(students=1)
    path = folder / "records.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[0] + "\n", encoding="utf-8")
    assert "got a second one" in refusal(folder, capsys)


def test_a_record_of_another_run_is_refused(make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(students=1)
    rewrite_record(folder, 0, lambda r: r["case"].update(id="elsewhere-k32"))
    assert "on elsewhere-k32" in refusal(folder, capsys)


def test_an_id_that_leaves_the_folder_is_refused(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(students=1)
    rewrite_json(folder / "run.json", lambda run: run["submissions"][0].update(id="../../etc"))
    assert 'got "../../etc"' in refusal(folder, capsys)


def test_optional_fields_may_be_absent(make_run: Callable[..., Any]) -> None:
    def strip(run: SyntheticRun) -> None:
        run.run = {
            key: value
            for key, value in run.run.items()
            if key in {"schema", "run", "lab", "backend", "cases", "submissions"}
        }
        for record in run.records:
            for key in (
                "harness",
                "toolchain",
                "device",
                "kernels",
                "verification",
                "recorded_at",
                "floor",
                "throughput_nnz_per_s",
                "seed_commitment",
                "sandbox",
                "wall_s",
            ):
                record.pop(key, None)
            record["case"] = {
                "id": record["case"]["id"],
                "dataset": record["case"]["dataset"],
                "k": 32,
                "kind": "speed",
            }
            if "timing" in record:
                record["timing"] = {"median_us": record["timing"]["median_us"]}
        run.compilations.clear()

    page = render(make_run(strip, students=2))
    assert "There is no record of a compilation" in page.words()


def test_a_case_without_a_record_is_not_run_and_not_a_zero(make_run: Callable[..., Any]) -> None:
    def drop(run: SyntheticRun) -> None:
        run.records = [r for r in run.records if r["submission"]["id"] != "Ada_Lovelace-767402"]

    page = render(make_run(drop, students=2))
    assert "there is no record of this case" in page.words()
    assert page.all("td", "v-not_run")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null", "1e999"])
def test_a_number_that_is_not_finite_is_shown_as_not_known(make_run: Callable[..., Any], value: str) -> None:
    folder = make_run(students=1, faults=0)
    path = folder / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    index = next(i for i, line in enumerate(lines) if '"throughput_nnz_per_s"' in line)
    record = json.loads(lines[index])
    rate = json.dumps(record["throughput_nnz_per_s"])
    del record["checksum"]
    lines[index] = canonical(record).replace(f'"throughput_nnz_per_s":{rate}', f'"throughput_nnz_per_s":{value}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = render(folder)
    assert "nan" not in page.words().lower().split()
    assert "inf" not in page.words().lower().split()
    assert "2/3" in page.words(), "the mean names the cases that it has"
