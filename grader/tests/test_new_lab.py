"""A new lab needs no edit outside its own folders: with toy_lab/ laid over a copy of the project, all commands work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT, records_of

TOY = Path(__file__).parent / "toy_lab"
ROOMS = ("reference", "student", "grader")
# What no command needs.
LEFT_OUT = (":!*/tests", ":!reports/published")


class Project:
    """A copy of the project with the toy lab in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *command: str | Path, code: int = 0) -> str:
        """Runs a command in the copy; its standard output."""
        environment = os.environ | {
            "CCACHE_BASEDIR": str(self.root),
            "CCACHE_NOHASHDIR": "1",
            "WARPGRADE_SKIP_PACKAGES": "1",
        }
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=1200
        )
        assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def warpgrade(self, *arguments: str | Path, code: int = 0) -> str:
        """Runs the copy's own program."""
        return self.run("build/bin/warpgrade", *arguments, code=code)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The copy; its first `make test` configures and builds it."""
    if not (ROOT / ".git").exists():
        pytest.skip("the copy is made of what git tracks, and this is no checkout")
    if shutil.which("ccache") is None:
        pytest.skip("without ccache this takes as long as the whole build")
    project = Project(tmp_path_factory.mktemp("project"))
    listed = subprocess.run(["git", "ls-files", "-z", "--", ".", *LEFT_OUT], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = project.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for room in ROOMS:
        before = {path for path in (project.root / room).rglob("*") if path.is_file()}
        for path in filter(Path.is_file, (TOY / room).rglob("*")):
            assert project.root / path.relative_to(TOY) not in before, f"{path} replaces a file of the project"
        shutil.copytree(TOY / room, project.root / room, dirs_exist_ok=True)
    (project.root / ".cache").mkdir()
    for file in (*ROOT.glob(".cache/*.stamp"), *ROOT.glob(".cache/toolchain.env")):
        shutil.copy(file, project.root / ".cache")
    (project.root / ".venv").symlink_to((ROOT / ".venv").resolve())
    project.run("git", "init", "--quiet")
    project.run("git", "add", "--all")
    return project


@pytest.fixture(scope="module")
def first_test(project: Project) -> str:
    """What `make test LAB=scan` says of the stub, after it has built everything."""
    return project.run("make", "test", "LAB=scan", "BACKEND=emulator")


def test_make_test_builds_it_and_skips_its_unwritten_stub(first_test: str, project: Project) -> None:
    assert "not written yet: " in first_test
    assert "write next: student/scan/scan.cu, then: make test" in first_test
    assert "scan" in project.warpgrade("labs")


@pytest.mark.usefixtures("first_test")
def test_a_class_is_graded_and_reported(project: Project) -> None:
    class_folder, run = project.root / "class", project.root / "runs/scan"
    shutil.copytree(TOY / "class", class_folder)
    project.warpgrade(
        "grade", class_folder, "--lab", "scan", "--with-reference", "--backend", "emulator", "--run", run,
    )  # fmt: skip
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    verdicts = {s["id"]: s["verdict"] for s in scores["submissions"]}
    assert verdicts == {
        "right": "accepted",
        "wrong": "wrong_answer",
        "naive": "accepted",
        "step-01_block_scan": "accepted",
        "optimized": "accepted",
    }
    assert {r["case"]["id"] for r in records_of(run)} == {"numbers-1", "numbers-1000"}
    project.warpgrade("report", run)
    page = "".join(file.read_text(encoding="utf-8") for file in (run / "report").rglob("*.html"))
    assert "scan" in page
    assert "out[256]" in page
    assert "K=" not in page
    assert "K =" not in page


@pytest.mark.usefixtures("first_test")
def test_a_wrong_answer_is_told_in_the_labs_terms(project: Project) -> None:
    said = project.warpgrade("check", TOY / "class/wrong", "--lab", "scan", "--backend", "emulator", code=3)
    assert "wrong_answer scan/numbers-1000: out[256] want" in said


@pytest.mark.usefixtures("first_test")
def test_it_is_packed_swept_profiled_and_handed_out(project: Project) -> None:
    project.run("make", "submit", "LAB=scan", "SUBMISSION=" + str(TOY / "class/right"))
    swept = project.warpgrade(
        "sweep", TOY / "class/right", "--lab", "scan", "--param", "SCAN_THREADS=64,256", "--cases", "numbers-1000",
        "--backend", "emulator", "--run", project.root / "runs/sweep",
    )  # fmt: skip
    assert "SCAN_THREADS=64" in swept
    project.warpgrade("profile", TOY / "class/right", "--lab", "scan", "--case", "numbers-1000")
    archive = project.root / "handout.tar.gz"
    project.run("scripts/package", "--handout", "--build", "build", "--output", archive)
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {
        "student/scan/scan.cu",
        "reference/include/warpgrade/scan.h",
        "reference/scan/naive/scan.cu",
        "grader/runner/scan_runner.cpp",
        "grader/policies/scan.yaml",
    } <= names
    assert not [name for name in names if name.startswith(("reference/scan/steps", "reference/scan/optimized"))]
