"""What the comparison with public kernels says, from records written here and from those that are published."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from warpgrade_bench import peers, peers_view
from warpgrade_bench.peers import PUBLIC, compare, interval_of, read_ceilings, spmm_floor_ms
from warpgrade_reports.source import ReportInputError

DEVICE = "NVIDIA H200"


def record(graph: str, k: int, ours_ms: float, default_ms: float, **changes: Any) -> dict[str, Any]:
    """A bench line with 31 samples of each; those of the default move with ours."""
    drift = [1 + 0.001 * (i % 7) for i in range(31)]
    timed = {"cusparse_default": default_ms, "cusparse_best": default_ms / 1.5, "optimized": ours_ms}
    submissions = [
        {"name": name, "plan_ms": 0.2, "wrong_cells": 0, "samples_ms": [time * d for d in drift]}
        for name, time in timed.items()
    ]
    line = {"schema": "warpgrade.bench.v1", "lab": "spmm", "device": DEVICE, "cuda_driver": 13000, "graph": graph}
    return {**line, "rows": 4267, "cols": 4267, "nnz": 2_135_822, "k": k, "submissions": submissions, **changes}


def write(root: Path, *records: dict[str, Any]) -> Path:
    folder = root / "set"
    folder.mkdir(exist_ok=True)
    (folder / "bench.jsonl").write_text("".join(json.dumps(line) + "\n" for line in records), encoding="utf-8")
    return root


def test_the_lead_over_a_public_kernel_is_the_ratio_of_what_both_are_over_the_vendors_default(tmp_path: Path) -> None:
    # ddi, K = 32: the public kernel is 0.104 / 0.0328 = 3.17 times as fast as the default; ours 4 times.
    (row,) = compare(write(tmp_path, record("ddi", 32, 0.025, 0.1))).rows
    assert row.ahead is not None
    assert row.ahead.median == pytest.approx(4.0 / (0.104 / 0.0328))
    assert row.over["cusparse_best"].median == pytest.approx(4.0 / 1.5)


def test_drift_that_both_share_leaves_no_width_in_a_paired_interval(tmp_path: Path) -> None:
    (row,) = compare(write(tmp_path, record("ddi", 32, 0.025, 0.1))).rows
    interval = row.over["cusparse_default"]
    assert interval.low == pytest.approx(interval.high)
    assert row.ours_ms.low is not None
    assert row.ours_ms.low < row.ours_ms.median


def test_cases_behind_the_public_kernel_by_more_than_the_slack_are_named(tmp_path: Path) -> None:
    text = peers_view.markdown(compare(write(tmp_path, record("ddi", 32, 0.0350, 0.104), record("am", 32, 0.1, 0.49))))
    assert "Ahead of the fastest public kernel on 1 of 2 cases" in text
    assert "behind it by more than 2.0 % on ddi K = 32" in text


def test_a_plan_over_its_allowance_is_named(tmp_path: Path) -> None:
    line = record("ddi", 32, 0.025, 0.1)
    line["submissions"][2]["plan_ms"] = 5.1
    assert "plans over their allowance: ddi K = 32" in peers_view.markdown(compare(write(tmp_path, line)))


def test_records_of_another_gpu_are_not_compared(tmp_path: Path) -> None:
    with pytest.raises(ReportInputError, match="NVIDIA H200"):
        compare(write(tmp_path, record("ddi", 32, 0.025, 0.1, device="NVIDIA A100")))


def test_a_record_with_wrong_cells_is_refused(tmp_path: Path) -> None:
    line = record("ddi", 32, 0.025, 0.1)
    line["submissions"][2]["wrong_cells"] = 3
    with pytest.raises(ReportInputError, match=r"bench.jsonl:1: optimized has 3 wrong cells"):
        compare(write(tmp_path, line))


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "warpgrade.bench.v1"}', '{"schema": "other"}'])
def test_a_line_that_is_no_bench_record_is_named_with_its_place(tmp_path: Path, text: str) -> None:
    root = write(tmp_path, record("ddi", 32, 0.025, 0.1))
    with (root / "set" / "bench.jsonl").open("a", encoding="utf-8") as file:
        file.write(text + "\n")
    with pytest.raises(ReportInputError, match=r"bench.jsonl:2"):
        compare(root)


def test_real_graphs_stand_apart_and_their_stand_ins_are_left_out(tmp_path: Path) -> None:
    lines = [record(name, 32, 0.02, 0.1) for name in ("ddi", "cora", "cora.standin")]
    comparison = compare(write(tmp_path, *lines))
    assert [row.case for row in comparison.of("spmm")] == ["ddi"]
    assert [row.case for row in comparison.of("spmm", real=True)] == ["cora"]


def test_a_case_of_two_sets_is_told_from_the_one_that_repeated_it_more_often(tmp_path: Path) -> None:
    few, many = record("ddi", 32, 0.030, 0.1), record("ddi", 32, 0.025, 0.1)
    for submission in few["submissions"]:
        del submission["samples_ms"][5:]
    for name, line in (("a", few), ("b", many), ("c", few)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bench.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    comparison = compare(tmp_path)
    assert [row.repetitions for row in comparison.rows] == [31]
    assert comparison.folders == ("b",)


def test_of_sets_that_repeated_a_case_as_often_the_fuller_one_is_told(tmp_path: Path) -> None:
    for name, lines in (("a", ["ddi"]), ("b", ["ddi", "collab"]), ("c", ["ddi"])):
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(record(graph, 32, 0.030, 0.1)) + "\n" for graph in lines)
        (tmp_path / name / "bench.jsonl").write_text(text, encoding="utf-8")
    assert compare(tmp_path).folders == ("b",)


def test_every_line_of_a_table_has_as_many_cells_as_its_head(sets: Path) -> None:
    width = 0
    for line in peers_view.markdown(compare(sets)).splitlines():
        cells = line.count("|")
        assert not cells or not width or cells == width, line
        width = cells


def test_apsp_is_told_by_growing_n(sets: Path) -> None:
    sizes = [row.width for row in compare(sets).of("apsp") if row.case.startswith("complete-timed-")]
    assert sizes == sorted(sizes)
    assert len(sizes) > 1


def test_an_interval_of_31_values_reaches_from_the_10th_to_the_22nd() -> None:
    interval = interval_of([float(i) for i in range(1, 32)])
    assert (interval.low, interval.median, interval.high) == (10.0, 16.0, 22.0)


def test_few_values_have_a_median_and_no_interval() -> None:
    assert interval_of([3.0, 1.0, 2.0]).low is None


def test_the_floor_is_the_larger_of_moved_and_gathered_bytes() -> None:
    ceilings = read_ceilings(tomllib.loads(PUBLIC.read_text(encoding="utf-8")))
    reddit, what = spmm_floor_ms(232_965, 232_965, 114_615_892, 32, ceilings)
    assert what == "gathers of B"
    assert reddit == pytest.approx(4 * 32 * 114_615_892 / 9.4e12 * 1e3, rel=0.01)
    wide, what = spmm_floor_ms(1_000_000, 1_000_000, 1_000_000, 256, ceilings)
    assert what == "compulsory bytes"
    assert wide == pytest.approx((8e6 + 4e6 + 4 * 256 * 2e6) / 4.3e12 * 1e3, rel=0.01)


def test_gather_rates_fall_with_the_footprint_and_meet_the_measured_points() -> None:
    ceilings = read_ceilings(tomllib.loads(PUBLIC.read_text(encoding="utf-8")))
    rates = [ceilings.gather_rate(size * 1e6) for size in (1, 4, 10, 30, 75, 200, 3000, 10_000)]
    assert rates == sorted(rates, reverse=True)
    assert ceilings.gather_rate(60e6) == pytest.approx(8.5e12)


def test_the_command_writes_tables_and_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path, *(record(graph, k, 0.02, 0.1) for graph in ("ddi", "am") for k in (32, 256)))
    assert peers_view.main([str(root), "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "peers.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "peers.md").read_text(encoding="utf-8") == capsys.readouterr().out


def test_no_records_at_all_is_an_error_that_says_how_to_make_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert peers_view.main([str(tmp_path)]) == 1
    assert "scripts/measure peers" in capsys.readouterr().err


def test_the_published_sets_have_every_lab_that_was_measured(sets: Path) -> None:
    labs = {row.lab for row in peers.compare(sets).rows}
    assert {"sampling", "histogram"} <= labs
