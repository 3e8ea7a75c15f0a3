"""A course of 200: quick enough to wait for, small enough to mail."""

import time

import pytest
from synthetic import GRAPHS, SyntheticRun
from warpgrade_reports.__main__ import main

SECONDS = 30.0


@pytest.mark.parametrize("backend", ["cuda", "emulator"])
def test_two_hundred_submissions_on_26_speed_cases_take_less_than_half_a_minute(tmp_path, backend):
    run = SyntheticRun(backend=backend, students=200, graphs=list(GRAPHS))
    assert sum(case["kind"] == "speed" for case in run.cases) == 26
    folder = run.write(tmp_path / "run")
    start = time.process_time()  # of this process: a busy machine is not the report's fault
    assert main([str(folder)]) == 0
    assert time.process_time() - start < SECONDS
    assert (folder / "report/index.html").read_text(encoding="utf-8").count('<article class="submission"') == 202
    assert (folder / "report/index.html").stat().st_size < 16e6
