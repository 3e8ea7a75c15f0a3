"""What makes a submission slow, as its section shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Page, known, render
from synthetic import SyntheticRun
from warpgrade_reports.model import Submission
from warpgrade_reports.profile import findings_of, kernel_name, profile_of
from warpgrade_reports.reading import read_run

KERNEL = "(anonymous namespace)::spmm_kernel"


def _finding(severity: float, message: str) -> dict[str, float | list[dict[str, Any]] | str]:
    place = {"file": "spmm.cu", "line": 31, "text": "32.0 sectors per request where 4.0 would be enough", "share": 0.8}
    return {
        "disease": "uncoalesced",
        "kernel": KERNEL,
        "severity": severity,
        "message": message,
        "advice": "Let neighbouring lanes touch neighbouring addresses.",
        "places": [place],
    }


def _line(number: int, instructions: int, **more: int) -> dict[str, Any]:
    return {
        "file": "spmm.cu",
        "line": number,
        "warp_instructions": instructions,
        "thread_instructions": 16 * instructions,
        "source": f"    sum += b[{number}];",
        **more,
    }


def _profiled(run: SyntheticRun) -> None:
    """The submission of the first record gets a profile on two cases, the second the larger and worse."""
    name = next(r["submission"]["id"] for r in run.records if r["outcome"]["verdict"] == "accepted")
    mine = [r for r in run.records if r["submission"]["id"] == name and r["outcome"]["verdict"] == "accepted"][:2]
    for factor, record in zip((1, 1000), mine, strict=True):
        counters = record["counters"]
        counters["warp_instructions"] = 1e12 * factor
        counters["findings"] = [_finding(0.1 * factor, f"moves {factor} times the sectors")]
        counters["kernels"] = [
            {
                "kernel": KERNEL,
                "warp_instructions": 1000,
                "lines": [
                    _line(31, 900, global_requests=10, global_sectors=320, global_sectors_ideal=40),
                    _line(32, 95, shared_requests=10, shared_passes=10, shared_passes_ideal=10),
                    _line(33, 5),
                ],
            }
        ]


def _profiled_submission(folder: Path) -> Submission:
    run = read_run(folder)
    return next(s for s in (*run.students, *run.staff) if findings_of(s))


def test_a_finding_is_told_once_from_its_worst_case(make_run: Callable[..., Any]) -> None:
    submission = _profiled_submission(make_run(_profiled, backend="emulator", students=1, faults=0))
    (finding,) = findings_of(submission)
    assert (finding.title, finding.kernel, finding.cases) == ("uncoalesced access", "spmm_kernel", 2)
    assert finding.message == "moves 1000 times the sectors"
    assert finding.places[0].where == "spmm.cu:31"


def test_the_lines_are_those_of_the_case_of_most_instructions(make_run: Callable[..., Any]) -> None:
    submission = _profiled_submission(make_run(_profiled, backend="emulator", students=1, faults=0))
    profile = known(profile_of(submission))
    assert profile.case == findings_of(submission)[0].case
    assert [line.number for line in profile.lines] == [31, 32]
    assert [round(line.share, 3) for line in profile.lines] == [0.9, 0.095]
    assert round(profile.left_out, 3) == 0.005
    assert (profile.lines[0].sectors, profile.lines[0].sectors_ideal, profile.lines[0].lanes) == (32, 4, 16)
    assert profile.lines[1].passes == 1
    assert profile.has_passes
    assert not profile.has_atomics


def test_the_page_shows_findings_and_lines(make_run: Callable[..., Any]) -> None:
    words = render(make_run(_profiled, backend="emulator", students=1, faults=0)).words()
    assert "What makes it slow" in words
    assert "spmm.cu:31 32.0 sectors per request where 4.0 would be enough (80.0 %)" in words
    assert "spmm.cu:31 90.0 % 16.0 32.0 (4.00)" in words
    assert "sum += b[31];" in words


def test_counters_of_the_wrong_kinds_are_left_out(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for record in run.records:
            if "counters" in record:
                record["counters"]["findings"] = ["text", {"disease": 7, "places": {}}, 3]
                record["counters"]["kernels"] = [{"lines": [None, {"line": "x", "warp_instructions": "many"}]}]

    assert render(make_run(change, backend="emulator", students=1, faults=0)).words()


def test_a_run_without_profiles_has_no_such_section(emulator_run: tuple[SyntheticRun, Page, Path]) -> None:
    _, page, _ = emulator_run
    assert "What makes it slow" not in page.words()


def test_an_anonymous_namespace_says_nothing() -> None:
    assert kernel_name(KERNEL) == "spmm_kernel"
