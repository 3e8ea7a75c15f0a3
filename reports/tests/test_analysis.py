"""The few things that are computed: each against figures worked out by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import known
from synthetic import SyntheticRun
from warpgrade_reports import analysis, counters
from warpgrade_reports.ladder import climb_of, main, markdown
from warpgrade_reports.model import CaseSpec, Run
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError


def read(make_run: Callable[..., Any], change: Callable[..., Any] | None = None, **options: int | str) -> Run:
    return read_run(make_run(change, **options))


def at_32(run: Run) -> list[CaseSpec]:
    return [spec for spec in run.speed_cases if spec.width == 32]


def set_ratio(record: dict[str, Any], median: float) -> None:
    record["ratios"] = {"cusparse_default": {"median": median, "low": median * 0.99, "high": median * 1.01}}


def test_the_mean_speedup_is_geometric_and_counts_its_cases(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for case, ratio in (("arxiv-k32", 0.5), ("collab-k32", 8.0)):
            set_ratio(run.record("optimized", case), ratio)
        run.record("optimized", "ddi-k32").pop("ratios")

    run = read(make_run, change, students=0)
    optimized = next(s for s in run.submissions if s.id == "optimized")
    mean = analysis.mean_speedup(optimized, at_32(run))
    assert mean.value == pytest.approx(2.0)
    assert (mean.measured, mean.possible) == (2, 3)


def test_a_mean_of_nothing_is_not_known() -> None:
    assert analysis.geometric_mean([]) is None


def test_the_speedup_of_a_case_that_is_not_correct_does_not_count(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.record("optimized", "arxiv-k32")["outcome"] = {"verdict": "timing_rejected"}

    run = read(make_run, change, students=0)
    optimized = next(s for s in run.submissions if s.id == "optimized")
    assert analysis.mean_speedup(optimized, at_32(run)).measured == 2
    assert analysis.time_over_floor(optimized.by_case["arxiv-k32"]) is None


def test_the_mean_throughput_is_arithmetic(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for case, rate in (("arxiv-k32", 1e9), ("collab-k32", 2e9), ("ddi-k32", 6e9)):
            run.record("optimized", case)["throughput_nnz_per_s"] = rate

    run = read(make_run, change, students=0)
    optimized = next(s for s in run.submissions if s.id == "optimized")
    assert analysis.mean_throughput(optimized, at_32(run)).value == pytest.approx(3e9)


def test_time_over_floor_is_the_graded_time_over_the_floor(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        record = run.record("optimized", "arxiv-k32")
        record["timing"]["median_us"] = 30.0
        record["floor"]["floor_us"] = 12.0

    run = read(make_run, change, students=0)
    optimized = next(s for s in run.submissions if s.id == "optimized")
    assert analysis.time_over_floor(optimized.by_case["arxiv-k32"]) == pytest.approx(2.5)


def test_equal_points_share_a_rank_and_the_next_one_is_skipped(make_run: Callable[..., Any]) -> None:
    run = read(make_run, backend="emulator", students=4, faults=0)
    assert [r.rank for r in analysis.ranking(run.students)] == [1, 1, 1, 1]
    mixed = read(make_run, students=6, name="mixed", seed=3)
    ranked = analysis.ranking(mixed.students)
    assert [r.submission.points for r in ranked] == sorted((s.points for s in mixed.students), reverse=True)
    assert all(r.rank == 1 + sum(s.points > r.submission.points for s in mixed.students) for r in ranked)


def test_alike_faults_are_told_once_with_all_their_cases(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for index in range(3):
            run.records[index]["outcome"] = {
                "verdict": "wrong_answer",
                "reason": "mismatch",
                "message": f"case {index}",
            }
        run.records[3]["outcome"] = {"verdict": "time_limit", "reason": "out_of_time"}

    run = read(make_run, change, students=1, faults=0)
    found = analysis.failures(run.students[0])
    assert [(f.verdict, len(f.cases)) for f in found] == [("wrong_answer", 3), ("time_limit", 1)]
    assert found[0].first.message == "case 0"


def test_work_is_relative_to_the_naive_reference_on_the_same_case(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for name, instructions in (("naive", 8000.0), ("optimized", 2000.0)):
            for case in run.cases:
                run.record(name, case["id"])["counters"]["warp_instructions"] = instructions

    run = read(make_run, change, backend="emulator", students=0)
    naive, optimized = run.submissions
    assert counters.naive_of(run) is naive
    mean = counters.mean_work_over_naive(optimized, naive)
    assert mean.value == pytest.approx(0.25)
    assert mean.measured == len(run.cases)


def test_a_failed_case_has_no_counters_to_compare(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.record("optimized", "arxiv-k32")["outcome"] = {"verdict": "time_limit"}

    run = read(make_run, change, backend="emulator", students=0)
    naive, optimized = run.submissions
    assert counters.work_over_naive(optimized.by_case["arxiv-k32"], naive) is None
    assert counters.work_over_naive(optimized.by_case["arxiv-k256"], naive) is not None


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        ("active-lanes", 24 / 32),
        ("global-sectors", 8.0),
        ("sectors-over-ideal", 2.0),
        ("shared-passes", 1.5),
        ("atomics-per-thousand", 20.0),
        ("arithmetic-to-memory", 2.5),
    ],
)
def test_each_counter_metric_is_the_quotient_that_it_names(slug: str, expected: float) -> None:
    totals = {
        "warp_instructions": 1000.0,
        "thread_instructions": 24000.0,
        "active_lanes": 24.0,
        "atomics": 20.0,
        "global_requests": 10.0,
        "global_sectors": 80.0,
        "global_sectors_ideal": 40.0,
        "shared_requests": 20.0,
        "shared_passes": 30.0,
        "arithmetic": 250.0,
        "memory": 100.0,
    }
    metric = next(m for m in counters.METRICS if m.slug == slug)
    assert metric.of(totals) == pytest.approx(expected)


def test_a_metric_without_its_denominator_is_not_known() -> None:
    shared = next(m for m in counters.METRICS if m.slug == "shared-passes")
    assert shared.of({"shared_passes": 0.0, "shared_requests": 0.0}) is None
    assert shared.of({}) is None


def set_times(run: SyntheticRun, case: str, times: list[Any]) -> None:
    for name, time_us in zip((s["id"] for s in run.submissions), times, strict=True):
        if time_us is None:
            run.record(name, case)["outcome"] = {"verdict": "runtime_error"}
        else:
            run.record(name, case)["timing"]["median_us"] = time_us


def test_the_journeys_gains_are_over_its_first_step(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        set_times(run, "arxiv-k32", [1000, 500, 250, 200, 125, 100, 50])

    journey = known(climb_of(read(make_run, change, students=0, kind="ladder")))
    assert journey.steps[0].id == "naive"
    assert journey.steps[-1].id == "optimized"
    path = next(p for p in journey.paths if p.spec.id == "arxiv-k32")
    assert path.gains == pytest.approx((1, 2, 4, 5, 8, 10, 20))


def test_the_journeys_mean_has_only_cases_that_every_step_has(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        set_times(run, "arxiv-k32", [1000, 500, 250, 200, 125, 100, 50])
        set_times(run, "collab-k32", [1000, 500, 500, 500, 500, 500, 200])
        set_times(run, "ddi-k32", [1000, 1, None, 1, 1, 1, 1])

    journey = known(climb_of(read(make_run, change, students=0, kind="ladder")))
    stretch = next(s for s in journey.stretches if s.group.title == "K = 32")
    assert len(stretch.complete) == 2
    assert stretch.mean_gains[1] == pytest.approx(2.0)
    assert stretch.mean_gains[-1] == pytest.approx(math.sqrt(20 * 5))
    ddi = next(p for p in journey.paths if p.spec.id == "ddi-k32")
    assert ddi.gains[2] is None


@pytest.mark.parametrize("backend", ["cuda", "emulator"])
def test_the_journey_leaves_out_cases_that_no_step_solves(make_run: Callable[..., Any], backend: str) -> None:
    def change(run: SyntheticRun) -> None:
        for name in [s["id"] for s in run.submissions][1:-1]:  # between naive and optimized
            run.record(name, "arxiv-k32")["outcome"] = {"verdict": "not_implemented"}

    journey = known(climb_of(read(make_run, change, backend=backend, students=0, kind="ladder")))
    cases = {path.spec.id for path in journey.paths}
    assert cases
    assert "arxiv-k32" not in cases


def test_a_step_that_was_not_reached_takes_nothing_from_the_others(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for case in ("arxiv-k32", "collab-k32", "ddi-k32"):
            set_times(run, case, [1000, 500, 250, 200, None, None, 50])

    stretch = next(s for s in known(climb_of(read(make_run, change, students=0, kind="ladder"))).stretches)
    assert len(stretch.complete) == 3
    assert stretch.mean_gains == pytest.approx([1, 2, 4, 5, None, None, 20])


def test_the_journey_is_of_the_cases_that_the_ladder_is_about(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.run["terms"] = {"width": "K", "work": "nnz", "ladder": "arxiv"}

    journey = known(climb_of(read(make_run, change, students=0, kind="ladder")))
    assert {path.spec.dataset for path in journey.paths} == {"arxiv"}


def test_the_emulators_journey_counts_instructions(make_run: Callable[..., Any]) -> None:
    journey = known(climb_of(read(make_run, backend="emulator", students=0, kind="ladder")))
    assert journey.counted
    assert "warp instructions" in markdown(journey)


def test_the_journeys_command_prints_markdown_or_says_what_is_missing(
    make_run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(make_run(students=0, kind="ladder"))]) == 0
    assert "| 05_two_shapes |" in capsys.readouterr().out
    assert main([str(make_run(students=1, name="other"))]) == 1
    assert "; next: grade with the staff" in capsys.readouterr().err


def launched(run: SyntheticRun) -> None:
    """Every counted kernel with a launch of its own shape."""
    for record in run.records:
        for kernel in record.get("counters", {}).get("kernels", []):
            kernel.update(block=[32, 8, 1], grid=[4400, 1, 1], shared_bytes=20480)


def test_a_gpus_journey_has_the_launches_of_the_same_programs_on_the_emulator(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        launched(run)
        step = next(s for s in run.submissions if s["id"].startswith("step-02"))
        step["hash"] = run.compilations[step["id"]]["hash"] = "0" * 64

    gpu = read(make_run, students=0, kind="ladder")
    emulated = read(make_run, change, backend="emulator", students=0, kind="ladder", name="emulated")
    assert "block" not in markdown(known(climb_of(gpu)))
    lines = {line.split(" | ")[0]: line for line in markdown(known(climb_of(gpu, emulated))).splitlines()}
    assert "| `spmm_long_rows_kernel` | 32 × 8 | 4,400 | 20.0 KB |" in lines["| 01_warp_per_row"]
    assert "4,400" not in lines["| 02_staged_a"]  # another program there
    assert "Kernels as the emulator launches them in " in "".join(lines)


def test_launches_of_another_lab_or_of_a_gpu_are_refused(make_run: Callable[..., Any]) -> None:
    gpu = read(make_run, students=0, kind="ladder")
    with pytest.raises(ReportInputError, match="expected a run of lab spmm on the emulator, got lab spmm on cuda"):
        climb_of(gpu, gpu)


def test_a_student_called_stephanie_is_no_step(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        step = next(s for s in run.submissions if s["id"].startswith("step-01"))
        for kept in (run.compilations, run.logs):
            kept["stephanie"] = kept.pop(step["id"])
        step["id"] = "stephanie"

    run = read(make_run, change, students=0, kind="ladder")
    assert "stephanie" in {s.id for s in run.submissions}
    assert [s.id[:7] for s in known(climb_of(run)).steps] == [
        "naive",
        "step-02",
        "step-03",
        "step-04",
        "step-05",
        "optimiz",
    ]


def test_the_journeys_markdown_keeps_a_hostile_title_in_its_cell(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        next(s for s in run.submissions if s["id"].startswith("step-02"))["title"] = "a|b\n_c_ <i>d_e"

    text = markdown(known(climb_of(read(make_run, change, students=0, kind="ladder"))))
    assert r"| a\|b \_c\_ \<i\>d_e |" in text
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n\n")[1].splitlines()}) == 1
