"""A student's attempts in a run: in their order, with their times, and what changed from one to the next."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Page, known
from synthetic_class import SyntheticClass
from test_feedback import case, view_of
from warpgrade_reports.attempts import attempts_climb, attempts_of, own_heat
from warpgrade_reports.feedback import render_html
from warpgrade_reports.model import Run
from warpgrade_reports.page import Pages
from warpgrade_reports.reading import read_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three attempts of one student, handed in the other way round than they are listed, and three other students."""
    made = SyntheticClass(students=6, graphs=["arxiv", "ddi"], faults=0)
    third, second, first = made.submissions[:3]
    for number, submission in enumerate((first, second, third), start=1):
        submission.update({"student": "ada", "members": ["ada"], "attempt": number, "counts": number == 3})
        submission["submitted_at"] = f"2026-02-{10 + number}T12:00:00+01:00"
    made.compilations[second["id"]]["kernels"][0] |= {"registers": 40}
    made.compilations[third["id"]]["kernels"][0] |= {"registers": 72}
    made.compilations[third["id"]]["flags"] = ["-O3", "-use_fast_math"]
    made.record(third["id"], "ddi-k32")["outcome"] = {"verdict": "wrong_answer", "reason": "mismatch"}
    return read_run(made.write(tmp_path_factory.mktemp("attempts") / "run"))


def test_a_students_attempts_stand_in_their_order_and_others_have_none(run: Run) -> None:
    counting = next(s for s in run.students if s.student == "ada")
    assert [s.attempt for s in attempts_of(counting, run)] == [1, 2, 3]
    assert counting.attempt == 3
    others = [s for s in run.submissions if s.student != "ada"]
    assert [attempts_of(s, run) for s in others] == [[]] * len(others)


def test_times_over_attempts_are_the_records_times_and_a_wrong_one_is_a_gap(run: Run) -> None:
    counting = next(s for s in run.students if s.student == "ada")
    journey = known(attempts_climb(counting, run))
    assert [step.title for step in journey.steps] == [f"attempt {n}, 2026-02-{10 + n}" for n in (1, 2, 3)]
    found = {path.spec.id: path.values for path in journey.paths}
    attempts = attempts_of(counting, run)
    assert found["arxiv-k32"] == tuple(known(s.by_case["arxiv-k32"].timing).time_us.median for s in attempts)
    assert found["ddi-k32"][2] is None and found["ddi-k32"][1] is not None


def test_the_staffs_page_says_what_changed_from_one_attempt_to_the_next(run: Run) -> None:
    pages = Pages(run)
    counting = next(s for s in run.students if s.student == "ada")
    text = next(text for _, text, _ in (pages.submission(i, contained=False) for i in range(pages.apart))
                if f"id <code>{counting.id}</code>" in text)  # fmt: skip
    words = Page(text).words().split("The attempts")[1]
    assert "40 registers, now 72" in words
    assert "flags: -O3 -use_fast_math" in words
    assert "no longer correct: ddi-k32" in words


def view_with_attempts() -> dict[str, Any]:
    attempts = [
        {"attempt": 1, "submitted_at": "2026-02-11T12:00:00", "correct_cases": 1, "total_cases": 2,
         "times_us": {"arxiv-32": 100.0}},
        {"attempt": 2, "submitted_at": "2026-02-12T12:00:00", "correct_cases": 2, "total_cases": 2,
         "times_us": {"arxiv-32": 50.0, "ddi-32": 8.0}},
        {"attempt": 3, "submitted_at": "2026-02-13T12:00:00", "correct_cases": 1, "total_cases": 2,
         "times_us": {"arxiv-32": 25.0, "ddi-32": "?"}},
    ]  # fmt: skip
    counting = {"id": "ada", "attempt": 2}
    return view_of([case("arxiv", 32), case("ddi", 32)], attempts=attempts, submission=counting)


def test_a_students_page_has_gains_over_the_first_measured_attempt() -> None:
    table, _ = known(own_heat(view_with_attempts()))
    assert [above for above, _ in table.heads] == ["mean", "arxiv-32", "ddi-32"]
    texts = [[cell.text for cell in cells] for _, cells in table.rows]
    assert texts == [["1.0", "1.0", "–"], ["1.4", "2.0", "1.0"], ["4.0", "4.0", "–"]]
    words = Page(render_html(view_with_attempts())).words()
    assert "Your attempts" in words and "3, 02-13 12:00, 1/2 correct" in words
    assert words.count("counts") == 1 and "2, 02-12 12:00, 2/2 correct, counts" in words


@pytest.mark.parametrize("attempts", [None, [], [{"attempt": 1, "times_us": {"arxiv-32": 3.0}}], [{}, {}], ["x", 3]])
def test_a_single_attempt_or_none_that_was_measured_has_no_table(attempts: list[Any] | None) -> None:
    view = view_with_attempts() | {"attempts": attempts}
    assert "Your attempts" not in render_html(view)
