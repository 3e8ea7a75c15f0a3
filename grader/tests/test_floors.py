"""The floors of grader/: a room includes only rooms below it. The order stands in the floors' own READMEs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

FLOORS = ["base", "cudart", "emulator", "record", "judge", "course", "cli"]  # from the ground up
BESIDE = {"policies", "tests"}  # data, and what may look at everything
MOST_ROOMS = 9
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"(?:struct|class|union)\s+(\w+(?:::\w+)*)(?:\s+final)?\s*(?::(?!:)[^;]*)?\{")
ROW = re.compile(r"^\| `(\w+)/` \|", re.MULTILINE)
EMULATOR_ROW = re.compile(r"^\| \[?`src/(\w+)/`", re.MULTILINE)


def rooms_of(floor: str) -> list[str]:
    """A floor's rooms from the ground up, as its README lists them. A floor that is one room has none."""
    page = ROOT / "grader" / floor / "README.md"
    return ROW.findall(page.read_text(encoding="utf-8")) if floor in {"judge", "course"} else []


ORDER = {(floor, room): (FLOORS.index(floor), place) for floor in FLOORS for place, room in enumerate(rooms_of(floor))}


# The emulator's own rooms, which include each other by paths below src/.
EMULATOR = EMULATOR_ROW.findall((ROOT / "grader/emulator/README.md").read_text(encoding="utf-8"))


def height(path: str) -> tuple[int, int] | None:
    """Where a file stands, from its path below grader/; none: outside of it.

    A program that lies beside a floor's rooms is above them.
    """
    floor, _, rest = path.partition("/")
    if floor not in FLOORS:
        return None
    return ORDER.get((floor, rest.partition("/")[0]), (FLOORS.index(floor), 1000))


def upward(name: str, text: str) -> list[str]:
    """The lines of a source that include a file above it. `name`: its path below grader/."""
    own = height(name)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        other = height(include[1]) if include else None
        if own is not None and other is not None and other > own:
            found.append(f"grader/{name}:{number}: {line.strip()} is above {name}")
    return found


def sources() -> list[Path]:
    """All of grader's C++ and CUDA but its tests."""
    done = subprocess.run(["git", "ls-files", "-z", "grader"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [ROOT / name for name in done.stdout.split("\0") if name]
    return [f for f in names if f.suffix in {".h", ".cpp", ".cu", ".cuh"} and "tests" not in f.parts and f.exists()]


def test_no_include_points_upwards() -> None:
    found = sources()
    assert len(found) > 500
    broken = [
        line
        for file in found
        for line in upward(str(file.relative_to(ROOT / "grader")), file.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not broken, "\n".join(broken)


def upward_in_emulator(name: str, text: str) -> list[str]:
    """The same for a source below grader/emulator/src. `name`: its path there."""
    own = EMULATOR.index(name.partition("/")[0])
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        room = include[1].partition("/")[0] if include else ""
        if room in EMULATOR and EMULATOR.index(room) > own:
            found.append(f"grader/emulator/src/{name}:{number}: {line.strip()} is above {name}")
    return found


def test_no_include_points_upwards_in_the_emulator() -> None:
    source = ROOT / "grader/emulator/src"
    assert {entry.name for entry in source.iterdir() if entry.is_dir()} == set(EMULATOR)
    found = [file for file in sources() if source in file.parents]
    assert len(found) > 150
    broken = [
        line
        for file in found
        for line in upward_in_emulator(str(file.relative_to(source)), file.read_text(encoding="utf-8"))
    ]
    assert not broken, "\n".join(broken)
    assert upward_in_emulator("exec/new.h", '#include "simt/execute.h"') and not upward_in_emulator(
        "simt/new.h", '#include "exec/words.h"'
    )


IMPORT = re.compile(r"^\s*(?:from|import)\s+(warpgrade_\w+|warpemu\w*)", re.MULTILINE)


def test_python_packages_import_only_those_below_them() -> None:
    """Reports know nothing of our own pages, and neither knows the programs in scripts/."""
    above = {"warpgrade_reports": {"warpgrade_bench"}}
    for package, others in above.items():
        for file in sorted((ROOT / "reports" / package).rglob("*.py")):
            imported = set(IMPORT.findall(file.read_text(encoding="utf-8")))
            assert not imported & others, f"{file.relative_to(ROOT)} imports {imported & others}"
    programs = {file.stem for file in (ROOT / "scripts/python").glob("*.py")}
    for folder in ("reports/warpgrade_reports", "reports/warpgrade_bench", "grader/judge"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            named = re.findall(r"^\s*(?:from|import)\s+(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert not programs & set(named), f"{file.relative_to(ROOT)} imports {programs & set(named)} of scripts/"


def types_of(text: str) -> dict[str, int]:
    """The types that a source defines for all others, by full name, with the line.

    Those of a nameless namespace are the source's own.
    """
    inside: list[str] = []
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if opened := NAMESPACE.match(line):
            inside.append(opened[1] or "(nameless)")
        elif re.match(r"\}\s*// namespace", line) and inside:
            inside.pop()
        elif (defined := TYPE.match(line)) and "(nameless)" not in inside:
            found["::".join([*inside, defined[1]])] = number
    return found


def test_a_type_has_one_definition() -> None:
    """Two types of one full name share their constructors and destructors when they are linked.

    Whichever of the two these were compiled for: no compiler tells, and the program frees what it never had.
    """
    places: dict[str, list[str]] = {}
    for file in sources():
        for name, line in types_of(file.read_text(encoding="utf-8", errors="replace")).items():
            places.setdefault(name, []).append(f"{file.relative_to(ROOT)}:{line}")
    assert len(places) > 500
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, twice


def test_a_local_type_may_have_any_name() -> None:
    text = "namespace a {\nnamespace {\nstruct X {\n};\n}  // namespace\nstruct Y final : Z {\n};\n}  // namespace a\n"
    assert types_of(text) == {"a::Y": 6}


def test_grader_has_few_rooms_and_each_floor_lists_its_own() -> None:
    rooms = {entry.name for entry in (ROOT / "grader").iterdir() if entry.is_dir() and entry.name != "__pycache__"}
    assert rooms == {*FLOORS, *BESIDE}
    assert len(rooms) <= MOST_ROOMS
    for floor in ("judge", "course"):
        there = {e.name for e in (ROOT / "grader" / floor).iterdir() if e.is_dir() and e.name != "__pycache__"}
        assert there == set(rooms_of(floor)), f"grader/{floor}/README.md lists other rooms"


def test_every_floor_is_a_target_of_its_own() -> None:
    for floor in FLOORS:
        files = [*(ROOT / "grader" / floor).glob("CMakeLists.txt"), *(ROOT / "grader" / floor).glob("*.cmake")]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        assert re.search(r"add_(library|executable)\(", text), f"grader/{floor} has no target"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("judge/judging/x.h", '#include "judge/labs/registry.h"'),
        ("judge/compile/x.cpp", '#  include "course/record/events.h"'),
        ("course/profile/x.cpp", '#include "cli/help.h"'),
        ("base/x.cpp", '#include "cudart/errors.h"'),
    ],
)
def test_an_upward_include_is_found_with_its_line(name: str, line: str) -> None:
    assert upward(name, f'#include "base/error.h"\n{line}\n') == [f"grader/{name}:2: {line} is above {name}"]


def test_datasets_stand_on_base_alone() -> None:
    """The inputs are below the judge: of grader/ they include files of `base` only."""
    done = subprocess.run(["git", "ls-files", "-z", "datasets"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in done.stdout.split("\0") if name.endswith((".h", ".cpp", ".cu", ".cuh"))]
    assert len(files) > 50
    floors = {
        (file.name, include[1])
        for file in files
        for include in map(INCLUDE.match, file.read_text(encoding="utf-8").splitlines())
        if include and include[1].partition("/")[0] in FLOORS and not include[1].startswith("base/")
    }
    assert not floors, floors
