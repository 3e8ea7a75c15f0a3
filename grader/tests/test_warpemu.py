"""The emulator on its own: the wheel `warpemu` in a bare environment of Python's, with a program that nvcc compiled."""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, WARPGRADE, Words, python_of

EMULATOR = WARPGRADE.resolve().parents[1] / "emulator"
MOST_BYTES = 15_000_000
PROGRAM = """#include <cstdio>
#include <cstdlib>
__global__ void fill(int* cells, int count) {
  if (threadIdx.x <= count) cells[threadIdx.x] = 1;
}
__global__ void add(int* cell) {
  *cell += 1;
}
int main(int, char** words) {
  int* cells = nullptr;
  cudaMalloc(&cells, 31 * sizeof(int));
  if (words[1][0] == 'b') fill<<<1, 32>>>(cells, 31);
  if (words[1][0] == 'r') fill<<<1, 31>>>(cells, 31);
  if (words[1][0] == 'u') add<<<1, 64>>>(cells);
  int first = 0;
  cudaMemcpy(&first, cells, sizeof first, cudaMemcpyDeviceToHost);
  std::printf("first %d\\n", first);
  std::fflush(stdout);
  if (words[1][1] == 'a') std::abort();
  return std::atoi(words[2]);
}
"""
BEYOND, RACE = 4, 7  # their lines


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the build's own libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    command: Words = [sys.executable, ROOT / "scripts/wheel", "--emulator", EMULATOR, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("warpemu-*.whl")
    return made


class Bare:
    """An environment that has Python and this wheel; PATH has the system's programs and nvcc."""

    def __init__(self, folder: Path, python: str, wheel: Path) -> None:
        self.folder = folder
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True, capture_output=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "venv/bin/python")]
        subprocess.run([*pip, "install", "--quiet", "--no-index", wheel], check=True, capture_output=True)
        (folder / "program.cu").write_text(PROGRAM, encoding="utf-8")

    def warpemu(self, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        search = ":".join([*([path] if path else []), "/usr/local/cuda/bin", "/usr/bin", "/bin"])
        environment = {"PATH": search, "HOME": str(self.folder)}
        environment |= {key: os.environ[key] for key in ("CUDA_HOME",) if key in os.environ}
        command = [str(self.folder / "venv/bin/warpemu"), *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    def findings(self, *words: str) -> tuple[int, list[dict[str, Any]], list[tuple[str, str, int]]]:
        """The exit code, the findings, and what a reader of SARIF sees of them."""
        done = self.warpemu("--json", "findings.json", "--sarif", "findings.sarif", *words)
        found = json.loads((self.folder / "findings.json").read_text(encoding="utf-8"))
        return done.returncode, found, places_in((self.folder / "findings.sarif").read_text(encoding="utf-8"))


def places_in(text: str) -> list[tuple[str, str, int]]:
    """Rule, file and line of each result, as sections 3.27 and 3.29 of OASIS' SARIF 2.1.0 have them."""
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    places = []
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in {"none", "note", "warning", "error"}
        (place,) = (location["physicalLocation"] for location in result["locations"])
        places.append((result["ruleId"], Path(place["artifactLocation"]["uri"]).name, place["region"]["startLine"]))
    return places


def test_the_reader_of_sarif_takes_what_another_program_writes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n", encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--output-format=sarif", "a.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert places_in(said) == [("F401", "a.py", 1)]


def test_the_wheel_is_small_and_has_no_compiler(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (library,) = (name for name in names if "libcudart.so." in name)
        assert archive.read(library) == (EMULATOR / Path(library).name).read_bytes(), "the grader's own"
    assert not [name for name in names if Path(name).name in {"nvcc", "ptxas", "cicc", "fatbinary"}]


@pytest.mark.parametrize("version", ["", "3.9", "3.13"])
def test_a_bare_environment_compiles_and_names_lines(tmp_path: Path, wheel: Path, version: str) -> None:
    bare = Bare(tmp_path, python_of(version) if version else sys.executable, wheel)
    done = bare.warpemu("nvcc", "-o", "program", "program.cu")
    assert done.returncode == 0, done.stderr

    done = bare.warpemu("./program", "right", "0")
    assert (done.returncode, done.stdout) == (0, "first 1\n")
    assert bare.findings("./program", "right", "7") == (7, [], []), "the program's own code"

    code, found, seen = bare.findings("./program", "beyond", "0")
    assert code == 1
    assert seen == [("out_of_bounds", "program.cu", BEYOND)]
    assert found[0]["thread"] == [31, 0, 0]
    assert bare.findings("./program", "ba", "0")[2] == seen, "also where the program dies behind it"

    assert bare.findings("./program", "unordered", "0")[0] == 0, "races are looked for where one asks"
    code, _, seen = bare.findings("--checks", "racecheck", "--", "./program", "unordered", "0")
    assert code == 1
    assert ("global_race", "program.cu", RACE) in seen


def lay_out_as_wheels(site: Path, toolkit: Path, major: int) -> None:
    """The toolkit as NVIDIA's wheels lay theirs out (nvidia-cuda-nvcc 13.0.88, nvidia-cuda-runtime 13.0.96).

    All is below nvidia/cu13; libraries are in lib/, by their sonames alone.
    """
    place = site / f"nvidia/cu{major}"
    (place / "bin").mkdir(parents=True)
    (place / "lib").mkdir()
    for file in (toolkit / "bin").iterdir():
        if file.name != "nvcc":
            (place / "bin" / file.name).symlink_to(file)
    shutil.copy(toolkit / "bin/nvcc", place / "bin")  # it looks for the others where it lies
    for name in ("include", "nvvm"):
        (place / name).symlink_to((toolkit / name).resolve())
    libraries = (toolkit / "lib64").resolve()
    for file in [*libraries.glob(f"libcudart.so.{major}"), *libraries.glob("libcuda*.a")]:
        (place / "lib" / file.name).symlink_to(file)


def test_the_compiler_of_nvidias_wheels_is_found_and_links(tmp_path: Path, wheel: Path) -> None:
    bare = Bare(tmp_path, sys.executable, wheel)
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    if not (toolkit / "bin/nvcc").is_file():
        pytest.skip(f"no toolkit in {toolkit}")
    (site,) = (tmp_path / "venv/lib").glob("python3.*/site-packages")
    (runtime,) = (site / "warpemu_libraries").glob("libcudart.so.*")
    lay_out_as_wheels(site, toolkit.resolve(), int(runtime.suffix[1:]))
    nowhere = str(tmp_path / "nowhere")
    compile_it = "warpemu.nvcc(['-o', 'program', 'program.cu'])"
    code = f"import warpemu; warpemu.INSTALLED = {nowhere!r}; raise SystemExit({compile_it})"
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", code], cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "CUDA_HOME": nowhere, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert bare.warpemu("./program", "right", "0").stdout == "first 1\n"


def test_the_extra_nvcc_is_what_bootstrap_installs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
        (runtime,) = (name for name in archive.namelist() if "libcudart.so." in name)
    if not runtime.endswith(".13"):
        pytest.skip("scripts/cuda-wheels.txt is of CUDA 13")
    assert metadata.get_all("Provides-Extra") == ["nvcc"]
    pinned = (ROOT / "scripts/cuda-wheels.txt").read_text(encoding="utf-8")
    wanted = metadata.get_all("Requires-Dist") or []
    assert {line.partition("==")[0] for line in wanted} == {
        "nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cuda-cccl"
    }  # fmt: skip
    assert all(f"{line.partition(';')[0]} \\" in pinned and line.endswith('extra == "nvcc"') for line in wanted)


def test_a_compiler_of_another_version_is_refused_with_what_to_do(tmp_path: Path, wheel: Path) -> None:
    bare = Bare(tmp_path, sys.executable, wheel)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n")
    (tmp_path / "other/nvcc").chmod(0o755)
    done = bare.warpemu("nvcc", "program.cu", path=str(tmp_path / "other"))
    assert done.returncode == 2
    assert "is CUDA 11.8, and this warpemu runs programs of CUDA" in done.stderr
    assert "set CUDA_HOME" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sarif", "/nonexistent/x.sarif", "/bin/true"], "/nonexistent/x.sarif: No such file or directory; the find"),
        (["./none"], "warpemu: ./none: No such file or directory\n"),
        (["none"], "warpemu: none: No such file or directory; a program in this folder is ./none"),
    ],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, words: list[str], told: str) -> None:
    command = [sys.executable, str(ROOT / "grader/emulator/python/warpemu.py"), *words]
    environment = os.environ | {"WARPEMU_LIBRARIES": str(EMULATOR)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert told in done.stderr
    assert "Traceback" not in done.stderr
