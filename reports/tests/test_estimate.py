"""What the comparison of estimates with records rests on: findings that name what is there, and how gains are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from warpgrade_bench import estimate_model, estimate_page
from warpgrade_bench.estimate_model import FINDINGS, folder_of

pytestmark = pytest.mark.skipif(
    not estimate_model.PUBLISHED.is_dir(), reason="not in the students' hand-out: it has no published sets"
)


def test_the_findings_name_solutions_that_are_there() -> None:
    named = [(lab, name) for lab, names in FINDINGS["fitted"].items() for name in names]
    named += [(step["lab"], step[which]) for step in FINDINGS["step"] for which in ("before", "after")]
    named += [(lab, name) for lab, names in FINDINGS["atomics"]["solutions"].items() for name in names]
    named += [(lab, "optimized") for lab in FINDINGS["unseen"]["labs"]]
    assert [each for each in named if not folder_of(*each).is_dir()] == []
    assert set(FINDINGS["unseen"]["labs"]).isdisjoint(FINDINGS["fitted"]), "they were not fitted"


def test_the_fit_keeps_to_coefficients_that_the_program_has() -> None:
    known = estimate_model.coefficients_in_tree()
    assert {*FINDINGS["fit"]["stiff"], *FINDINGS["fit"]["not_fitted"]} <= set(known)


def test_every_counted_run_is_a_case_that_was_recorded() -> None:
    recorded = {(lab, case) for lab, case, _ in estimate_model.records()}
    assert {(lab, case) for lab, case, _ in FINDINGS["counted"].values()} <= recorded
    assert set(estimate_page.measured_bounds()) <= recorded
    assert len(estimate_page.measured_bounds()) > len(FINDINGS["counted"])


def run(lab: str, case: str, submission: str, measured: int, told: int, **without: Any) -> dict[str, Any]:
    estimate = {"us": told, "without": without}
    return {"lab": lab, "case": case, "submission": submission, "measured_us": measured, "estimate": estimate}


def test_a_gain_is_told_of_the_ladders_step_where_the_problem_is() -> None:
    rows = [
        run("gcn", case, *each)
        for case in ("xw-web", "aggregate-web")
        for each in (("naive", 100, 100), ("step-03_shared_w", 40, 50), ("step-04_x_in_registers", 20, 20))
    ] + [run("gcn", case, "optimized", 10, 10) for case in ("xw-web", "aggregate-web")]
    for row in rows:
        row["estimate"]["without"] = {"redundant": row["estimate"]["us"] / 2, "imbalance": row["estimate"]["us"] / 5}
    assert estimate_page.gain_rows(rows) == [
        ("gcn xw-web: step-03_shared_w without redundant, beside step-04_x_in_registers", 2.0, 2.0, 4.0, True),
        ("gcn aggregate-web: naive without imbalance, beside optimized", 5.0, 10.0, 10.0, True),
    ]
    rows[1]["submission"] = "step-02_register_sums"
    assert [step for *_, step in estimate_page.gain_rows(rows)] == [False, True], "two steps at once"


def test_a_bar_is_reached_or_not_or_was_not_measured() -> None:
    words = [estimate_page.bar("bounds", "39 of 39", reached).rsplit("| ", 1)[1] for reached in (True, False, None)]
    assert words == ["reached |", "**not reached** |", "not measured |"]


def test_counters_are_kept_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = estimate_model.read_counters()
    monkeypatch.setattr(estimate_model, "COUNTERS", tmp_path / "counters.jsonl.xz")
    estimate_model.keep_counters(before)
    assert estimate_model.read_counters() == before
    assert [path.name for path in tmp_path.iterdir()] == ["counters.jsonl.xz"]
