"""The schema of records, which the judge's own tables make: against the metaschema, and against kept records."""

from __future__ import annotations

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
                found += [json.loads(line) for line in file.read().decode("utf-8").splitlines() if line]
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
    for outcome in ({"verdict": "right"}, {"verdict": "accepted", "reason": "because"}, {"verdict": 1}, []):
        assert not validator.is_valid({**record, "outcome": outcome}), outcome


def test_verdicts_have_a_look_each_and_two_are_nobodys_fault() -> None:
    assert {"judge_fault", "not_run"} == UNDECIDED
    assert len({style.letter for style in STYLES.values()}) == len(STYLES)
    assert all(re.fullmatch("#[0-9a-f]{6}", style.colour) for style in STYLES.values())
