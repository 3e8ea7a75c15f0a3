"""The schema of records, which the judge's own tables make: against the metaschema, and against kept records."""

from __future__ import annotations

import ast
import json
import re
import tarfile
from pathlib import Path

import jsonschema
import pytest
from warpgrade_reports.verdicts import SCHEMA, STYLES, UNDECIDED

ROOT = Path(__file__).parents[2]
KEPT = sorted((ROOT / "reports/published").glob("h?00/*.tar.xz"))
OF_BEFORE = ROOT / "grader/tests/upgrade/from-0.1.tar.xz"


def records_in(archive: Path) -> list[dict[str, object]]:
    """All lines of its records.jsonl; none: it holds other tables."""
    found = []
    with tarfile.open(archive) as kept:
        for member in kept:
            if member.name.endswith("records.jsonl") and (file := kept.extractfile(member)):
                found += [json.loads(line) for line in file.read().decode("utf-8").strip().split("\n") if line]
    return found


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("archive", [OF_BEFORE, *KEPT], ids=lambda archive: archive.stem)
def test_kept_records_are_as_it_says(archive: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for record in records_in(archive):
        errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(record)]
        assert not errors, errors[:5]


def test_it_refuses_what_is_no_record() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    record = records_in(OF_BEFORE)[0]
    wrong: list[object] = [{"verdict": "right"}, {"verdict": "accepted", "reason": "because"}, {"verdict": 1}, []]
    for outcome in wrong:
        assert not validator.is_valid({**record, "outcome": outcome}), outcome


def test_verdicts_have_a_look_each_and_two_are_nobodys_fault() -> None:
    assert {"judge_fault", "not_run"} == UNDECIDED
    assert len({style.letter for style in STYLES.values()}) == len(STYLES)
    assert all(re.fullmatch("#[0-9a-f]{6}", style.colour) for style in STYLES.values())


# What reads a part of a record, and the schema's names of what it reads.
READERS = {
    "_brief_result": ("Record", "Outcome", "Estimate"),
    "_case_result": ("Record", "Outcome", "Verification", "Case", "Estimate", "Details", "Plan"),
    "_with_sizes": ("Case", "Shape"),
    "_case_spec": ("Case",),
    "_timing": ("Timing",),
    "_floor": ("Floor",),
    "_throughput": ("Record",),
}
# Of objects that a record holds as they are: their fields stand in the record's own words.
INNER = {"Details": {"output"}, "Plan": {"device_bytes"}, "Shape": {"max_row", "mean_row", "empty_rows"},
         "Estimate": {"over_naive", "text", "ratio"}}  # fmt: skip


def keys_read(function: ast.FunctionDef) -> set[str]:
    """The words that its calls of a node's methods name."""
    return {
        argument.value
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and re.fullmatch("[a-z_]+", argument.value)
    }


def test_reports_read_fields_that_a_record_has() -> None:
    source = (ROOT / "reports/warpgrade_reports/reading.py").read_text(encoding="utf-8")
    functions = {f.name: f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef)}
    for name, parts in READERS.items():
        known = set().union(*(INNER.get(part) or SCHEMA["$defs"][part]["properties"] for part in parts))
        read = keys_read(functions[name])
        assert read, name
        assert read <= known, f"{name}: {read - known}"
