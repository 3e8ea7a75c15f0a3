"""Cases stand together as a reader compares them, whatever the lab calls its width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from warpgrade_reports.grouping import Group, groups_of
from warpgrade_reports.ladder import short_kernel
from warpgrade_reports.model import CaseSpec, Run
from warpgrade_reports.reading import read_run


@pytest.fixture
def run(make_run: Callable[..., Any]) -> Run:
    return read_run(make_run(students=0))


def specs(*shapes: tuple[str, int]) -> list[CaseSpec]:
    return [CaseSpec(f"{dataset}-{k}", dataset, k, "speed") for dataset, k in shapes]


def titles(groups: list[Group]) -> list[tuple[str, tuple[str, ...]]]:
    return [(group.title, group.labels) for group in groups]


def test_many_datasets_at_two_widths_make_a_group_a_width(run: Run) -> None:
    shapes = [(dataset, k) for dataset in ("arxiv", "ddi", "yelp") for k in (32, 256)]
    names = ("arxiv", "ddi", "yelp")
    assert titles(groups_of(run, specs(*shapes))) == [("K = 32", names), ("K = 256", names)]


def test_one_dataset_at_many_sizes_is_one_group_in_the_labs_word(run: Run) -> None:
    sizes = (100, 1000, 2500, 5000, 7500, 10000)
    (group,) = groups_of(replace(run, width="n"), specs(*(("complete", n) for n in sizes)))
    assert group.title == ""
    assert group.labels[0] == "n = 100"
    assert group.labels[-1] == "n = 10,000"


def test_many_cases_of_several_datasets_make_a_group_a_dataset(run: Run) -> None:
    shapes = [(dataset, n) for dataset in ("xw", "softmax") for n in range(1, 7)] + [("pipeline", 99)]
    groups = groups_of(replace(run, width="V"), specs(*shapes))
    assert [group.title for group in groups] == ["xw", "softmax", "other cases"]
    assert groups[0].labels == tuple(f"V = {n}" for n in range(1, 7))
    assert groups[-1].labels == ("pipeline-99",)


def test_a_lab_without_a_width_has_no_word_for_it(run: Run) -> None:
    (group,) = groups_of(replace(run, width=""), specs(("uniform", 1), ("one-bin", 1)))
    assert (group.title, group.labels, group.named("Time")) == ("", ("uniform", "one-bin"), "Time")


def test_labels_in_a_group_differ(run: Run) -> None:
    (group,) = groups_of(replace(run, width="V"), [*specs(("xw", 5)), CaseSpec("again", "xw", 5, "speed")])
    assert group.labels == ("xw-5", "again")


@pytest.mark.parametrize(
    "name",
    [
        "(anonymous namespace)::tile_kernel<32>(int const*, int)",
        "void (anonymous namespace)::tile_kernel<32>(int const*)",
        "tile_kernel<32>",
        "apsp::tile_kernel<32>",
    ],
)
def test_a_kernel_is_the_same_in_every_spelling(name: str) -> None:
    assert short_kernel(name) == "tile_kernel<32>"


def test_two_variants_whose_arguments_hold_brackets_are_two_kernels() -> None:
    names = [f"void sums::rows_kernel<(sums::Mode){mode}>(sums::Rows, double*)" for mode in (0, 1)]
    assert [short_kernel(name) for name in names] == ["rows_kernel<(sums::Mode)0>", "rows_kernel<(sums::Mode)1>"]
