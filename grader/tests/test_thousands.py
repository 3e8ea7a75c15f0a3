"""A class of thousands: what commands keep in memory does not grow with the samples of its records."""

import resource
import sys
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import SyntheticClass

MOST_BYTES = 140 << 20  # of address space, libraries included
NUMBERS = 200_000  # in each record; of all records together they would fill it


@pytest.fixture(scope="module")
def large_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small class whose records have as many samples as those of a large one."""
    run = SyntheticClass(students=5, graphs=["arxiv"])
    for record in run.records:
        record["samples_of_this_test"] = [3.25] * NUMBERS
    folder: Path = run.write(tmp_path_factory.mktemp("large") / "run")
    return folder


@pytest.mark.parametrize("command", [["score"], ["export", "--format", "moodle"]], ids=lambda command: command[0])
def test_records_are_read_one_after_another(large_records: Path, command: list[str]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))

    done = warpgrade(command[0], large_records, *command[1:], preexec_fn=limit)
    assert done.returncode == 0, done.stderr
