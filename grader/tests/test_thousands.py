"""A class of thousands: memory does not grow with the samples of its records, and little with each student.

`scripts/measure thousands` has the seconds; a test of them would fail on a busy machine.
"""

import resource
import sys
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

sys.path.append(str(ROOT / "reports/tests"))
from measured_command import measured
from synthetic_class import SyntheticClass

MOST_BYTES = 140 << 20  # of address space, libraries included
NUMBERS = 200_000  # in each record; of all records together they would fill it
FEW, MANY, CLASS = 20, 140, 1000  # students
MOST_MIB = {"score": 200, "report": 500}  # of a class of 1,000 on 26 cases for speed


@pytest.fixture(scope="module")
def large_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small class whose records have as many samples as those of a large one."""
    run = SyntheticClass(students=5, graphs=["arxiv"])
    for record in run.records:
        record["samples_of_this_test"] = [3.25] * NUMBERS
    folder: Path = run.write(tmp_path_factory.mktemp("large") / "run")
    assert warpgrade("score", folder).returncode == 0  # an export refuses scores that do not follow from its records
    return folder


@pytest.mark.parametrize("command", [["score"], ["export", "--format", "moodle"]], ids=lambda command: command[0])
def test_records_are_read_one_after_another(large_records: Path, command: list[str]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))

    done = warpgrade(command[0], large_records, *command[1:], preexec_fn=limit)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Two classes by their number of students."""
    folder = tmp_path_factory.mktemp("growing")
    return {students: SyntheticClass(students).write(folder / str(students)) for students in (FEW, MANY)}


@pytest.mark.parametrize("command", ["score", "report"])
def test_memory_of_a_class_of_a_thousand_stays_in_bounds(growing: dict[int, Path], command: str) -> None:
    """By what each student more takes: the largest process's, as the kernel counts it (getrusage(2), ru_maxrss)."""
    few, many = (measured([command, growing[students]])["memory_mb"] for students in (FEW, MANY))
    one = max(0.0, many - few) / (MANY - FEW)
    told = f"{few:.0f} MiB for {FEW} students, {many:.0f} for {MANY}"
    assert few + one * (CLASS - FEW) < MOST_MIB[command], told
