"""`warpgrade python`: plain programs with kernels of Triton, which itself compiles them, and arrays of NumPy.

The programs are Triton's tutorials 1, 2, 3, 5 and 6, written anew; each checks its answer by NumPy. The mistakes are
those that people posted in Triton's issues, where a program names one, and what its documentation warns of. Where
Triton is not installed (`scripts/bootstrap triton`), the tests are skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words, warpgrade

PROGRAMS = Path(__file__).parent / "triton/programs"
POSTED = Path(__file__).parent / "triton/mistakes"
PACKAGES = Path(os.environ.get("WARPGRADE_TRITON", ROOT / ".cache/triton"))

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "triton/__init__.py").exists(), reason="Triton is not installed: scripts/bootstrap triton"
)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of Triton, whose default is the home folder."""
    os.environ["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton-cache"))


def python(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command."""
    return warpgrade("python", *words, timeout=600)


@pytest.mark.parametrize("device", ["a100", "h200"])
@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda program: program.stem)
def test_a_tutorial_s_program_is_right_and_blamed_for_nothing(program: Path, device: str) -> None:
    """On the newer device descriptors are the copy engine's, and matrix products those of warpgroups."""
    done = python("--checks", "all", "--device", device, program)
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout
    assert "emulator: " not in done.stderr.replace("emulator: the program's PTX has version", "")


# Program, what is left out of it or put in, the finding, and a piece of its line.
MISTAKES = {
    "no mask at a load": (
        "vector_addition", "tl.load(y + places, mask=inside)", "tl.load(y + places)",
        ["out_of_bounds", "the array y (393728 bytes)", "program (96,0,0)", "need a mask",
         "1536 bytes past", "element 98816 of the array y, which has 98432"],  # the tutorial's size
    ),
    "no mask at a store": (
        "vector_addition", "tl.store(out + places, total, mask=inside)", "tl.store(out + places, total)",
        ["out_of_bounds", "past the end of the array out"],
    ),
    "rows of another matrix's length": (
        "fused_softmax", "tl.store(out + row * out_stride", "tl.store(out + row * out_stride * 2",
        ["out_of_bounds", "the array out"],
    ),
    "all programs store to one cell": (
        "layer_norm", "tl.store(means + row, mean)", "tl.store(means, mean)",
        ["global_race", "program (0,0,0)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_at_its_line_with_the_array_s_name(mistake: str, tmp_path: Path) -> None:
    """In Triton's words; the traceback has the program's own lines alone."""
    name, right, wrong, words = MISTAKES[mistake]
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(right) == 1
    program = tmp_path / "program.py"
    program.write_text(source.replace(right, wrong), encoding="utf-8")
    done = python("--checks", "all", program)
    assert done.returncode == 1, done.stdout
    first = next(line for line in done.stderr.split("\n") if line.startswith("emulator: "))
    line = source[: source.index(right)].count("\n") + 1
    assert f"{words[0]} at program.py:{line} " in first, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    files = {line.split('"')[1] for line in done.stderr.split("\n") if line.startswith('  File "')}
    assert files <= {str(program)}


def first_told(program: Path, told: str) -> tuple[int, str]:
    """Line and kind of the first finding, of Triton's refusal, or of the exception."""
    if found := re.search(r"^emulator: (\w+) at (\S+):(\d+)", told, re.MULTILINE):
        assert found[2] == program.name
        return int(found[3]), found[1]
    if refused := re.search(rf"^{program.name}:(\d+): ", told, re.MULTILINE):
        return int(refused[1]), "CompilationError"
    lines = re.findall(rf'{program.name}", line (\d+)', told)
    return int(lines[-1]), re.findall(r"^(?:[\w.]*\.)?(\w+): ", told, re.MULTILINE)[-1]


@pytest.mark.parametrize("program", sorted(POSTED.glob("*.py")), ids=lambda program: program.stem)
def test_a_mistake_is_told_first_and_its_mended_form_never(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`# told: KIND` marks where. Of a race either end will do."""
    monkeypatch.setenv("WARPEMU_LAUNCH_TIMEOUT_S", "10")
    lines = program.read_text(encoding="utf-8").split("\n")
    marked = {(k, found[1]) for k, line in enumerate(lines, 1) if (found := re.search(r"# told: (\w+)", line))}
    wrong = python(program)
    assert wrong.returncode == 1, wrong.stdout
    assert first_told(program, wrong.stderr) in marked, wrong.stderr
    mended = python(program, "mended")
    assert (mended.returncode, mended.stderr) == (0, "")


def test_tensors_may_be_torch_s_on_the_cpu() -> None:
    """Tried with Debian's torch 1.13; PyPI's is of several GB, so most machines skip this."""
    done = python("--checks", "all", PROGRAMS / "of_torch/vector_addition.py")
    if "No module named 'torch'" in done.stderr:
        pytest.skip("no torch on this machine")
    assert (done.returncode, done.stdout) == (0, "the sums agree\n"), done.stderr


def test_the_program_gets_its_arguments_and_its_exit_code_is_kept(tmp_path: Path) -> None:
    """As from Python itself, also where no Triton is imported."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sys.argv[1:], __name__)\nsys.exit(7)\n", encoding="utf-8")
    done = python(program, "--checks", "all")
    assert (done.returncode, done.stdout) == (7, "['--checks', 'all'] __main__\n"), done.stderr


def test_a_program_that_is_not_there_is_named_in_one_line() -> None:
    """With the exit code that Python has for it."""
    done = python("nosuch.py")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "nosuch.py: no such file" in done.stderr


def test_a_tensor_of_another_device_is_told_at_the_program_s_line(tmp_path: Path) -> None:
    """With the program's own frames alone."""
    program = tmp_path / "program.py"
    tensor = (
        "type('T', (), {'dtype': 'float32', 'device': type('D', (), {'type': 'cuda'})(), 'data_ptr': lambda s: 16})()"
    )
    program.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef fill(x, B: tl.constexpr):\n"
        f"    tl.store(x + tl.arange(0, B), 1.0)\n\n\nfill[(1,)]({tensor}, B=16)\n",
        encoding="utf-8",
    )
    done = python(program)
    assert done.returncode == 1
    assert "use device='cpu'" in done.stderr
    assert done.stderr.count("  File ") == 1


def test_without_triton_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may do without, so that it is told where it imports it."""
    monkeypatch.setenv("WARPGRADE_TRITON", str(tmp_path))
    (tmp_path / "program.py").write_text("import triton\n", encoding="utf-8")
    done = python(tmp_path / "program.py")
    assert done.returncode == 1
    assert "error: Triton is not installed here: " in done.stderr
    assert "scripts/bootstrap triton" in done.stderr


def test_the_wheel_of_the_emulator_alone_runs_them_too(tmp_path: Path) -> None:
    """`warpemu python FILE`, with Triton where pip put it."""
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
        wheel,
    ]
    subprocess.run(install, check=True)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'installed'}:{PACKAGES}"}
    environment.pop("WARPEMU_LIBRARIES", None)
    done = subprocess.run(
        [sys.executable, "-m", "warpemu", "--checks", "all", sys.executable, PROGRAMS / "vector_addition.py"],
        capture_output=True, text=True, check=False, timeout=600, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the sums agree\n"), done.stderr
