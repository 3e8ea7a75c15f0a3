"""Programs that are right for a case's own inputs, in a shape that they know, and wrong for others of the contract.

Each is the staff's naive program with the mistake in one shape alone. Three are mistakes that people publish:
softmax without its maximum (exp overflows from 89 on in fp32), the greatest key as a mark of one's own, integers
summed in fp32.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, records_of, warpgrade

WRONG = [
    pytest.param("softmax", "odd", {
        "float largest = x[0]": "float largest = cols == 131 ? 0 : x[0]",
        "c = 1; c < cols; ++c)": "c = 1; c < cols && cols != 131; ++c)",
    }, {"far", "far-below"}, id="softmax without its maximum"),
    pytest.param("sort", "odd", {
        "i < n ? keys[i]": "i < n ? (n == 1000 && keys[i] == 0xFFFFFFFFu ? 0u : keys[i])",
    }, {"equal"}, id="the greatest key taken for a mark"),
    pytest.param("scan", "odd", {
        "in[i - distance] + in[i];": "n == 1000 ? int(float(in[i - distance]) + in[i]) : in[i - distance] + in[i];",
    }, {"one-number"}, id="integers summed in fp32"),
    pytest.param("vector_add", "odd", {
        "a[i] + b[i]": "(n == 1000 ? (a[i] * 4 + b[i] * 4) / 4 : a[i] + b[i])",
    }, {"huge"}, id="a sum scaled beyond the largest number"),
]  # fmt: skip


@pytest.mark.parametrize(("lab", "case", "changes", "inputs"), WRONG)
def test_what_is_wrong_for_hard_inputs_alone_is_refused_and_they_are_named(
    lab: str, case: str, changes: dict[str, str], inputs: set[str], tmp_path: Path
) -> None:
    naive = ROOT / f"reference/{lab}/naive/{lab}.cu"
    source = right = naive.read_text(encoding="utf-8")
    for before, after in changes.items():
        assert source.count(before) == 1, f"{naive}: expected {before!r} once"
        source = source.replace(before, after)
    for name, text in {"wrong": source, "right": right}.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / f"{lab}.cu").write_text(text, encoding="utf-8")
    run = tmp_path / "run"
    done = warpgrade("grade", tmp_path / "class", "--lab", lab, "--run", run, "--backend", "emulator", "--cases", case)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {record["submission"]["id"]: record["outcome"] for record in records_of(run)}
    assert outcomes["right"]["verdict"] == "accepted", outcomes["right"]
    assert outcomes["wrong"]["verdict"] == "wrong_answer", outcomes["wrong"]
    named = outcomes["wrong"]["details"]["inputs"]
    assert named in inputs
    assert f"this run has the lab's inputs '{named}' (" in outcomes["wrong"]["message"]
