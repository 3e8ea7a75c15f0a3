"""The staff's solutions, every step of every ladder: accepted on small cases, with the counters that a page tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, records_of, warpgrade
from warpgrade_bench import gcn_counters

# A few small cases a lab, with sizes that no tile divides; a lab that is not named here is judged on all public ones.
CASES = {
    "apsp": "complete-31,sparse-97,islands-70",
    "gcn": "xw-256,xw-517,xw-one-vertex,pipeline-isolated",
    "histogram": "power-law-small,one-id,no-id",
    "sampling": "synth-ragged-allx25,synth-empty-rows-allx16,synth-hub-100x4",
    "spmm": "synth-ragged-k32,synth-empty-rows-k32,synth-wide-k-k64",
}
LADDERS = sorted(folder.parent.name for folder in ROOT.glob("reference/*/steps"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Records of a lab's ladder; filled as labs are asked for."""
    scratch = tmp_path_factory.mktemp("ladders")

    class Runs(dict[str, list[dict[str, Any]]]):
        def __missing__(self, lab: str) -> list[dict[str, Any]]:
            options = ("--with-reference", "--no-speed", "--allow-unsandboxed", "--quiet", "--run", scratch / lab)
            cases = CASES.get(lab, "public")
            done = warpgrade("grade", "--lab", lab, "--backend", "emulator", "--cases", cases, *options)
            assert done.returncode == 0, done.stdout + done.stderr
            self[lab] = records_of(scratch / lab)
            return self[lab]

    return Runs()


@pytest.mark.parametrize("lab", LADDERS)
def test_every_step_is_accepted(lab: str, judged: dict[str, list[dict[str, Any]]]) -> None:
    steps = {f"step-{folder.name}" for folder in (ROOT / "reference" / lab / "steps").iterdir() if folder.is_dir()}
    ends = {path.name for path in (ROOT / "reference" / lab).glob("optimized*")} | {"naive"}
    assert {record["submission"]["id"] for record in judged[lab]} == steps | ends
    outcomes = [(r["submission"]["id"], r["case"]["id"], r["outcome"]["verdict"]) for r in judged[lab]]
    assert [outcome for outcome in outcomes if outcome[2] != "accepted"] == []


def test_the_rest_of_the_layer_is_the_same_in_every_step_of_gcn() -> None:
    files = sorted((ROOT / "reference/gcn/steps").glob("*/rest_of_layer.cuh"))
    assert len(files) == len(list((ROOT / "reference/gcn/steps").iterdir()))
    assert len({file.read_bytes() for file in files}) == 1


def ratios(table: str) -> dict[str, float]:
    """The printed arithmetic-to-memory ratio of each step: the bold figure of its row."""
    rows = re.findall(r"^\| (\w+) \|.*\*\*([0-9.]+)\*\*", table, re.MULTILINE)
    return {name: float(figure) for name, figure in rows}


def test_the_page_of_gcn_tells_the_ratios_that_are_counted(judged: dict[str, list[dict[str, Any]]]) -> None:
    """Within a tenth: another version of the compiler may unroll otherwise."""
    counters = gcn_counters.counters_of(judged["gcn"])
    del counters["optimized"]
    _, printed, _ = gcn_counters.split_page(Path(gcn_counters.README).read_text(encoding="utf-8"))
    counted = ratios(gcn_counters.table(counters))
    assert ratios(printed) == pytest.approx(counted, rel=0.1), "python -m warpgrade_bench.gcn_counters --write"
