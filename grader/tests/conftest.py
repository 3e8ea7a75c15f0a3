"""What the grader's tests share: the built programs, run as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = Path(os.environ.get("WARPGRADE", ROOT / "build/bin/warpgrade"))
sys.path.append(str(ROOT / "scripts/python"))  # programs whose functions are tried one by one
# Messages name the program as it is called; tests that compare them call it by its name alone.
os.environ.setdefault("WARPGRADE_COMMAND", "warpgrade")
os.environ.setdefault("WARPGRADE_LANG", "C")  # a developer may read another language than the tests do
# Tests send Ctrl-C. A shell's background job ignores it, and so would every program that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that mostly wait begin first, then those with many tests: workers that take whole files end together."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("waits") is None, -tests[item.path], str(item.path)))


def chosen_parameters(request: pytest.FixtureRequest, file: str) -> list[dict[str, Any]]:
    """The parameters of the file's own tests that were chosen (-k), for a fixture that judges them together."""
    own = (item for item in request.session.items if item.path == Path(file))
    return [item.callspec.params for item in own if hasattr(item, "callspec")]


Words = list[str | Path]  # of a command


def warpgrade(*arguments: str | Path, timeout: float = 900, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the program; standard output and error are captured as text."""
    command = [str(WARPGRADE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **options)


def copy_program(programs: Path) -> Path:
    """The program in another folder, where it finds the project as from its own: beside programs of a test's."""
    programs.mkdir()
    built = WARPGRADE.resolve().parent.parent
    lines = [line.partition("=") for line in (built / "warpgrade.layout").read_text(encoding="utf-8").splitlines()]
    layout = "".join(f"{name}={(built / folder).resolve()}\n" for name, _, folder in lines)
    (programs.parent / "warpgrade.layout").write_text(layout, encoding="utf-8")
    return Path(shutil.copy2(WARPGRADE, programs))


def declared_labs() -> set[str]:
    """The labs that their lab.yaml declares in full; of the others it has the words and cases, and the judge is C++."""
    files = ROOT.glob("reference/*/lab.yaml")
    return {file.parent.name for file in files if "judge" not in yaml.safe_load(file.read_text(encoding="utf-8"))}


def records_of(run: Path) -> list[dict[str, Any]]:
    """The case records of a run folder."""
    lines = (run / "records.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="session")
def sets() -> Iterator[Path]:
    """The published sets, unpacked, to be read."""
    from warpgrade_bench.set_archives import unpacked  # noqa: PLC0415 -- programs load this file without reports

    with unpacked(ROOT / "reports/published") as folder:
        yield folder


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """The tests judge the built program; without it there is nothing to test."""
    if not WARPGRADE.exists():
        pytest.fail(f"{WARPGRADE} is not there: run make build first")


def python_of(version: str) -> str:
    """A Python of this version, or a skip that says so."""
    own = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for found in (shutil.which(f"python{version}"), *map(str, own)):
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    pytest.skip(f"no Python {version} on this machine")
