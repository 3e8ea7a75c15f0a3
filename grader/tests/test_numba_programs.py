"""`warpgrade python` with kernels of Numba, which itself compiles them, on the emulator's libcuda and nvJitLink.

The programs are examples of Numba's documentation, written anew; each checks its answer by NumPy. Where Numba is not
installed (`scripts/bootstrap numba`), the tests are skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words, warpgrade

PROGRAMS = Path(__file__).parent / "numba/programs"
PACKAGES = Path(os.environ.get("WARPGRADE_NUMBA", ROOT / ".cache/numba"))

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "numba/__init__.py").exists(), reason="Numba is not installed: scripts/bootstrap numba"
)


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command."""
    return warpgrade("python", *words, timeout=600)


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda program: program.stem)
def test_a_program_of_the_documentation_is_right_and_blamed_for_nothing(program: Path) -> None:
    done = python(program)
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout
    assert "emulator: " not in done.stderr


# Program, what is right, what is wrong, and what is told at the first line of the piece that follows.
MISTAKES = {
    "no guard at a store": (
        "stream_and_events", "x < numbers.shape[0] and y < numbers.shape[1]", "x < 48 and y < 21",
        "numbers[x, y] += 1", ["out_of_bounds", "in __main__::increase, block (2,0,0) thread (5,", "past the end of"],
    ),
    "no barrier before a tile is read": (
        "matrix_product", "column < b.shape[1] else 0\n        cuda.syncthreads()", "column < b.shape[1] else 0\n",
        "total += left",
        ["shared_race", "in __main__::multiply, block", "or cuda.syncthreads() where threads of other warps"],
    ),
    "a sum without an atomic function": (
        "sum_in_shared_memory", "cuda.atomic.add(total, 0, part[0])", "total[0] += part[0]",
        "total[0] += part[0]", ["global_race", "use cuda.atomic.add"],
    ),
    "an array that nobody filled": (
        "stream_and_events", "other.copy_to_device(there)", "increase[(3, 2), (16, 16)](other)",
        "numbers[x, y] += 1", ["uninitialized_read", "in __main__::increase, block"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_at_its_line_in_numba_s_words(mistake: str, tmp_path: Path) -> None:
    name, right, wrong, piece, words = MISTAKES[mistake]
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(right) == 1
    program = tmp_path / "program.py"
    program.write_text(source.replace(right, wrong), encoding="utf-8")
    done = python(program)
    assert done.returncode == 1, done.stdout
    first = done.stderr[done.stderr.index("emulator: ") :]
    lines = program.read_text(encoding="utf-8").split("\n")
    told = re.search(r"program\.py:(\d+)", first)
    assert told, first
    near = " ".join(first.split("\n")[:2])  # a race is told at one of its two lines and names the other
    places = [lines[int(line) - 1] for line in re.findall(r"program\.py:(\d+)", near)]
    assert any(piece in place for place in places), first
    assert all(word in first for word in words), first
    assert "site-packages" not in done.stderr
    assert "tl." not in first


def test_a_program_that_asks_for_link_time_optimization_gets_it(tmp_path: Path) -> None:
    """LTO-IR becomes PTX by the toolkit's own nvJitLink."""
    if not list(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")).glob("lib64/libnvJitLink.so.*")):
        pytest.skip("the toolkit has no nvJitLink")
    source = (PROGRAMS / "sum_in_shared_memory.py").read_text(encoding="utf-8")
    program = tmp_path / "program.py"
    changed = source.replace("@cuda.jit\n", "").replace(
        "def main", "add_up = cuda.jit(add_up, lto=True, lineinfo=True)\n\n\ndef main"
    )
    program.write_text(changed, encoding="utf-8")
    done = python(program)
    assert (done.returncode, done.stdout) == (0, "the sums agree\n"), done.stderr


def test_without_numba_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_NUMBA", str(tmp_path))
    (tmp_path / "program.py").write_text("from numba import cuda\n", encoding="utf-8")
    done = python(tmp_path / "program.py")
    assert done.returncode == 1
    assert "error: Numba is not installed here: " in done.stderr
    assert "scripts/bootstrap numba" in done.stderr


def test_the_wheel_of_the_emulator_alone_runs_them_too(tmp_path: Path) -> None:
    """`warpemu python FILE`, with Numba where pip put it."""
    emulator = WARPGRADE.resolve().parents[1] / "emulator"
    made = subprocess.run([sys.executable, ROOT / "scripts/wheel", "--emulator", emulator, tmp_path], check=False)
    assert made.returncode == 0
    (wheel,) = tmp_path.glob("warpemu-*.whl")
    install: Words = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        tmp_path / "installed",
    ]
    subprocess.run([*install, wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'installed'}:{PACKAGES}"}
    environment.pop("WARPEMU_LIBRARIES", None)
    done = subprocess.run(
        [sys.executable, "-m", "warpemu", "--checks", "memcheck,racecheck", sys.executable, PROGRAMS / "counts.py"],
        capture_output=True, text=True, check=False, timeout=600, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the counts agree\n"), done.stderr
