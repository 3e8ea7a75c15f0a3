"""table.csv and table.md."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Page, render
from synthetic import SyntheticRun
from warpgrade_reports.reading import read_run
from warpgrade_reports.tables import CSV_COLUMNS, csv_table, markdown_table


def lines_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "report/table.csv").read_text(encoding="utf-8"))))


def test_the_csv_has_a_line_a_submission_and_case(cuda_run: tuple[SyntheticRun, Page, Path]) -> None:
    run, _, folder = cuda_run
    lines = lines_of(folder)
    assert tuple(lines[0]) == CSV_COLUMNS
    assert [(line["submission"], line["case"]) for line in lines] == [
        (s["id"], c["id"]) for s in run.submissions for c in run.cases
    ]


def test_the_csv_carries_the_records_numbers_whole(cuda_run: tuple[SyntheticRun, Page, Path]) -> None:
    run, _, folder = cuda_run
    lines = {(line["submission"], line["case"]): line for line in lines_of(folder)}
    for record in run.records:
        line = lines[record["submission"]["id"], record["case"]["id"]]
        assert line["verdict"] == record["outcome"]["verdict"]
        if "timing" in record:
            assert float(line["time_us"]) == record["timing"]["median_us"]
            assert float(line["speedup"]) == record["ratios"]["cusparse_default"]["median"]
            assert float(line["throughput_nnz_per_s"]) == record["throughput_nnz_per_s"]
            assert float(line["plan_device_bytes"]) == record["plan"]["device_bytes"]
        else:
            assert line["time_us"] == line["speedup"] == ""


def test_the_csv_of_an_emulator_run_has_counts_and_no_times(emulator_run: tuple[SyntheticRun, Page, Path]) -> None:
    run, _, folder = emulator_run
    lines = {(line["submission"], line["case"]): line for line in lines_of(folder)}
    for record in run.records:
        line = lines[record["submission"]["id"], record["case"]["id"]]
        assert line["time_us"] == line["threshold"] or line["time_us"] == ""
        if "counters" in record:
            assert float(line["count_warp_instructions"]) == record["counters"]["warp_instructions"]


def test_a_cell_that_a_spreadsheet_would_run_is_made_text(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.submissions[0]["title"] = "=HYPERLINK(1)"
        run.records[0]["outcome"]["message"] = "@SUM(A1)"

    folder = make_run(change, students=1, faults=0)
    lines = list(csv.DictReader(io.StringIO(csv_table(read_run(folder)))))
    assert lines[0]["title"] == "'=HYPERLINK(1)"
    assert lines[0]["message"] == "'@SUM(A1)"


def test_markdown_keeps_a_name_in_its_cell(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.submissions[0]["title"] = "a | b\n# <i>c</i>"

    table = markdown_table(read_run(make_run(change, students=1)))
    rows = [line for line in table.splitlines() if "a \\| b" in line]
    assert len(rows) == 1
    assert "\\# \\<i\\>c" in rows[0]
    head = next(line for line in table.splitlines() if "submission" in line and line.startswith("|"))
    assert rows[0].replace("\\|", "").count("|") == head.count("|")


def test_markdown_names_what_was_not_judged(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.records[0]["outcome"] = {"verdict": "judge_fault", "message": "the device was lost"}
        for key in ("timing", "ratios"):
            run.records[0].pop(key, None)

    folder = make_run(change, students=1, faults=0)
    render(folder)
    assert "Verdicts still open (judge fault or not run): 1." in (folder / "report/table.md").read_text(
        encoding="utf-8"
    )
