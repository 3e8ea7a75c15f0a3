"""A wrong answer on the emulator is run again under other schedules, until a finding explains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import WARPGRADE, records_of
from corpus import BACKEND, CORPUS, grade_class, read_example

pytestmark = pytest.mark.skipif(BACKEND != "emulator", reason="a GPU finds no causes")

HIDDEN, PLAIN, NONE = "missing_syncthreads_behind_a_lock", "missing_syncthreads", "writes_zeros"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The records of three wrong submissions."""
    scratch = tmp_path_factory.mktemp("cause")
    for name in (HIDDEN, PLAIN, NONE):
        read_example(CORPUS / "wrong_answer" / name, BACKEND).lay_out(scratch / "class" / name)
    done = grade_class(WARPGRADE, scratch, "spmm", "synth-uniform-k256", BACKEND)
    assert done.returncode == 0, done.stdout + done.stderr
    return {record["submission"]["id"]: record for record in records_of(scratch / "run")}


def line_of(name: str, text: str) -> int:
    """The number of the line that holds `text`."""
    lines = Path(CORPUS / "wrong_answer" / name / "spmm.cu").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_race_that_shows_only_under_another_schedule_comes_first(records: dict[str, dict[str, Any]]) -> None:
    record = records[HIDDEN]
    place = f"spmm.cu:{line_of(HIDDEN, 'sum += staged[i]')}: "
    assert record["outcome"]["verdict"] == "wrong_answer", record["outcome"]
    assert record["outcome"]["message"].startswith(place), record["outcome"]
    assert (
        "(shared_race), the emulator finds this when the last warp of a block runs first; "
        in record["outcome"]["message"]
    )
    assert record["diagnostics"][0]["schedule"] == "reversed", record["diagnostics"]
    assert record["cause_search"]["schedules"] == ["reversed"] and record["cause_search"]["found"], record
    assert record["phases"]["cause_search"] == record["cause_search"]["wall_s"] > 0


def test_a_cause_that_is_known_is_not_looked_for(records: dict[str, dict[str, Any]]) -> None:
    record = records[PLAIN]
    assert record["outcome"]["message"].startswith("spmm.cu:"), record["outcome"]
    assert "cause_search" not in record, record


def test_where_no_schedule_shows_a_cause_the_message_is_that_of_the_answer(records: dict[str, dict[str, Any]]) -> None:
    record = records[NONE]
    assert record["cause_search"]["schedules"] == ["reversed", "one_ahead"], record
    assert not record["cause_search"]["found"], record
    assert record["outcome"]["message"].startswith("c["), record["outcome"]
