"""The autograder image's scripts, run as Gradescope runs them: in a tree like its own, on a real submission."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, WARPGRADE
from test_exports import GRADESCOPE

SCRIPTS = ROOT / "scripts/bridges/gradescope"


@pytest.fixture
def autograder(tmp_path: Path) -> Path:
    """What Gradescope lays out, less the project itself, which is built already."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/warpgrade").symlink_to(ROOT)
    settings = "LAB=spmm\nCASES=synth-identity-k32\nALLOW_UNSANDBOXED=1\n"
    (tmp_path / "source/settings.env").write_text(settings, encoding="utf-8")
    shutil.copytree(ROOT / "reference/spmm/naive", tmp_path / "submission")
    return tmp_path


def run_autograder(root: Path, program: Path = WARPGRADE) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/local/cuda/bin:/usr/bin:/bin", "AUTOGRADER_ROOT": str(root), "WARPGRADE": str(program)}
    command = [str(SCRIPTS / "run_autograder")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def test_a_case_beyond_an_older_interface_is_not_promised_to_be_judged_again(autograder: Path) -> None:
    settings = "LAB=apsp\nCASES=complete-31,sparse-97\nALLOW_UNSANDBOXED=1\n"
    (autograder / "source/settings.env").write_text(settings, encoding="utf-8")
    shutil.rmtree(autograder / "submission")
    shutil.copytree(ROOT / "grader/tests/submissions/accepted/apsp_legacy", autograder / "submission")
    done = run_autograder(autograder)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    tests = {test["name"]: test for test in result["tests"]}
    assert tests["complete-31"]["status"] == "passed"
    assert "status" not in tests["sparse-97"]
    assert "again" not in tests["sparse-97"]["output"]
    assert result["score"] == 40


def test_a_submission_gets_valid_results(autograder: Path) -> None:
    done = run_autograder(autograder)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    jsonschema.validate(result, GRADESCOPE)
    assert result["score"] == 40
    assert [test["status"] for test in result["tests"]] == ["passed"]


def test_a_submission_that_does_not_compile_is_told_why(autograder: Path) -> None:
    shutil.rmtree(autograder / "submission")
    (autograder / "submission").mkdir()
    (autograder / "submission/spmm.cu").write_text("#include <warpgrade/spmm.h>\nint f( {\n", encoding="utf-8")
    done = run_autograder(autograder)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))
    jsonschema.validate(result, GRADESCOPE)
    assert result["score"] == 0
    assert "spmm.cu" in result["output"]


def test_a_judge_that_fails_leaves_no_results(autograder: Path, tmp_path: Path) -> None:
    """No results.json, not a zero: also where an earlier one stood."""
    (autograder / "results").mkdir()
    (autograder / "results/results.json").write_text("{}")
    broken = tmp_path / "broken"
    calls = tmp_path / "calls"
    broken.write_text(f"#!/bin/sh\necho x >>{calls}\necho 'fault of the judge: the disk is full' >&2\nexit 2\n")
    broken.chmod(0o755)
    done = run_autograder(autograder, broken)
    assert done.returncode != 0
    assert "the disk is full" in done.stderr
    assert calls.read_text(encoding="utf-8") == "x\nx\n", "it was tried once more"
    assert not (autograder / "results/results.json").exists()


def test_the_archive_has_what_gradescope_asks_for_at_its_root(tmp_path: Path) -> None:
    command = [str(SCRIPTS / "pack"), str(tmp_path / "autograder.zip")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = set(archive.namelist())
        assert {
            "setup.sh",
            "run_autograder",
            "settings.env",
            "warpgrade/Makefile",
            "warpgrade/scripts/bootstrap",
        } <= names
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    assert not [name for name in names if name.startswith("warpgrade/grader/tests/submissions")]
