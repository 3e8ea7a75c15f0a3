"""Bridges to the platforms that courses have: the real scripts, in models of the platforms' own machines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import gslocal.results
import jsonschema
import junitparser
import lms_import
import pytest
import yaml
from code_hosts import MOST_SUMMARY, code_quality, commands_in, line_of
from conftest import ROOT, Words, warpgrade
from desk_place import Desk, desk_at, sshd
from platform_box import container
from test_exports import GRADESCOPE

BRIDGES = ROOT / "scripts/bridges"
CLASS = ROOT / "grader/tests/demo_class"
RIGHT, OUT_OF_BOUNDS, NO_PROGRAM = (CLASS / name for name in ("bo.naive", "fay.out_of_bounds", "hana.syntax_error"))
CASE = "synth-identity-k32"
EMULATOR = "Judged without a GPU, on the emulator. Speed was not measured."


def exported(view: dict[str, Any], folder: Path, formats: str) -> Path:
    """What `warpgrade export` makes of a view."""
    folder.mkdir(exist_ok=True)
    (folder / "view.json").write_text(json.dumps(view), encoding="utf-8")
    options: Words = ["--format", formats, "--output", folder / "out", "--source-root", "labs, week 1/spmm"]
    done = warpgrade("export", folder / "view.json", *options)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def view_of(cases: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A student's view with these cases."""
    person = {"id": "submission", "name": "Ada"}
    head = {"schema": "warpgrade.feedback.v1", "run": "r", "lab": "spmm", "made_from": "a test", "person": person}
    return {**head, "points": 0.0, "max_points": 100.0, "verdict": "wrong_answer", "cases": cases, **more}


# ---- Files of a code host, from a view


HOSTILE = "a, b: 100%\n::set-env name=PATH::x\r##vso\n| `x` <img>"


def test_what_students_write_commands_no_runner_and_breaks_no_table(tmp_path: Path) -> None:
    finding = {"kind": "out_of_bounds", "file": "my,file:1%.cu", "line": 7, "message": HOSTILE, "advice": "look"}
    case = {"id": "case|1", "verdict": "runtime_error", "message": HOSTILE, "diagnostics": [finding]}
    right = {"id": "case2", "verdict": "accepted", "diagnostics": [{**finding, "file": "/etc/passwd"}]}
    out = exported(view_of([case, right], correct_cases=1, total_cases=2), tmp_path, "github,gitlab")
    (command,) = commands_in((out / "github/submission.txt").read_text(encoding="utf-8"))
    assert command.name == "error"
    assert command.properties == {"file": "labs, week 1/spmm/my,file:1%.cu", "line": "7", "title": "out of bounds"}
    assert command.data.startswith(HOSTILE.replace("\r", "\ufffd"))
    assert command.data.endswith("look\n(case case|1)")
    (entry,) = code_quality((out / "gitlab/submission.json").read_text(encoding="utf-8"))
    assert (entry["location"]["path"], line_of(entry)) == ("labs, week 1/spmm/my,file:1%.cu", 7)
    summary = (out / "github/submission.md").read_text(encoding="utf-8")
    assert "| case\\|1 | **runtime error** |" in summary
    assert "1 of 2 cases are right" in summary


def test_many_mistakes_stay_within_a_runners_limits(tmp_path: Path) -> None:
    cases = [
        {
            "id": f"case-{number}",
            "verdict": "wrong_answer",
            "message": "x" * 20_000,
            "diagnostics": [{"kind": "race", "file": "a.cu", "line": number, "message": "y"}],
        }
        for number in range(1, 300)
    ]
    out = exported(view_of(cases, total_cases=299), tmp_path, "github,gitlab")
    assert len(commands_in((out / "github/submission.txt").read_text(encoding="utf-8"))) == 10
    assert (out / "github/submission.md").stat().st_size < MOST_SUMMARY
    assert len(code_quality((out / "gitlab/submission.json").read_text(encoding="utf-8"))) == 10


def test_the_readers_take_what_another_program_writes_for_these_hosts(tmp_path: Path) -> None:
    """Ruff writes both formats, and GitHub and GitLab show its reports (it escapes no comma in a name)."""
    (tmp_path / "a.py").write_text("import os\n", encoding="utf-8")
    for kind in ("github", "gitlab"):
        command = [sys.executable, "-m", "ruff", "check", "--isolated", f"--output-format={kind}", "a.py"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        if kind == "github":
            (remark,) = commands_in(said)
            assert (remark.name, remark.properties["line"]) == ("error", "1")
            assert remark.properties["file"].endswith("a.py")
        else:
            (entry,) = code_quality(said)
            assert (entry["location"]["path"], line_of(entry)) == ("a.py", 1)


@pytest.mark.parametrize(
    "change", [{"schema": "other"}, {"cases": 7}, {"cases": [{"id": 1}]}, {"points": "many"}, {"person": {}}]
)
def test_a_file_that_is_no_view_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "view.json").write_text(json.dumps({**view_of([]), **change}), encoding="utf-8")
    done = warpgrade("export", tmp_path / "view.json", "--format", "github", "--output", tmp_path / "out")
    assert done.returncode == 1
    assert "expected one student's view" in done.stderr
    assert not (tmp_path / "out").exists()


# ---- Workflows


def vendored_schema(name: str) -> dict[str, Any]:
    """The schema of schemastore.org that check-jsonschema carries."""
    folder = resources.files("check_jsonschema").joinpath("builtin_schemas/vendor")
    schema: dict[str, Any] = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return schema


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("github/warpgrade.yml", "github-workflows"),
        ("github/warpgrade-gpu.yml", "github-workflows"),
        ("gitlab/warpgrade.gitlab-ci.yml", "gitlab-ci"),
    ],
)
def test_workflows_are_what_the_hosts_published_schemas_allow(file: str, schema: str) -> None:
    text = (BRIDGES / file).read_text(encoding="utf-8")
    # YAML 1.1, which PyYAML reads, takes the word `on` for true.
    workflow = {"on" if key is True else key: value for key, value in yaml.safe_load(text).items()}
    found = vendored_schema(schema)
    jsonschema.validators.validator_for(found)(found).validate(workflow)
    version = (
        (ROOT / "CMakeLists.txt").read_text(encoding="utf-8").partition("project(warpgrade VERSION ")[2].split()[0]
    )
    assert "PACKAGE_URL" not in text or f"-{version}-linux-" in text, "the present version's package"


def test_gitlabs_job_leaves_its_reports_where_the_job_names_them(tmp_path: Path) -> None:
    """The script runs as GitLab Runner's shell runs it: lines in one bash with -eo pipefail (shells/bash.go)."""
    job = yaml.safe_load((BRIDGES / "gitlab/warpgrade.gitlab-ci.yml").read_text(encoding="utf-8"))
    lines = job[".warpgrade"]["script"]
    shutil.copytree(NO_PROGRAM, tmp_path / "student/spmm")
    words = {**job["variables"], **job["warpgrade"]["variables"], "WARPGRADE_HOME": str(ROOT), "CASES": CASE}
    command = ["bash", "-eo", "pipefail", "-c", "\n".join(lines)]
    done = container(command, {tmp_path: "/builds/lab"}, folder="/builds/lab", environment=words)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "First: it does not compile" in done.stdout
    reports = job[".warpgrade"]["artifacts"]["reports"]
    entries = code_quality((tmp_path / reports["codequality"]).read_text(encoding="utf-8"))
    assert [(entry["location"]["path"], line_of(entry)) for entry in entries] == [
        ("student/spmm/spmm.cu", line) for line in (5, 6, 7)
    ]
    junit = junitparser.JUnitXml.fromfile(str(tmp_path / reports["junit"]))
    assert (junit.tests, junit.errors) == (1, 1)


# ---- Gradescope: https://gradescope-autograders.readthedocs.io/en/latest/specs/, "File hierarchy"


def gradescope(folder: Path, submission: Path, settings: str, *, cpu: float = 1) -> subprocess.CompletedProcess[str]:
    """The harness: /autograder, root, no namespaces; `desk_key` lies where `pack` puts it."""
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    (source / "settings.env").write_text(settings, encoding="utf-8")
    shutil.copytree(submission, folder / "submission", dirs_exist_ok=True, symlinks=True)
    (folder / "results").mkdir(exist_ok=True)
    binds = {folder: "/autograder", ROOT: "/autograder/source/warpgrade"}
    command = [str(BRIDGES / "gradescope/run_autograder")]
    return container(command, binds, folder="/autograder", cpu=cpu)


def results_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """results.json as Gradescope's specification has it; another program for Gradescope's files reads it as well."""
    file = folder / "results/results.json"
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(results, GRADESCOPE)
    gslocal.results.format_results(file)
    shown = capsys.readouterr().out
    assert all(test["name"] in shown for test in results["tests"])
    return results


def test_gradescope_without_a_desk_says_that_it_measured_no_speed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = gradescope(tmp_path, RIGHT, f"LAB=spmm\nCASES={CASE}\nALLOW_UNSANDBOXED=1\n")
    assert done.returncode == 0, done.stdout + done.stderr
    results = results_of(tmp_path, capsys)
    assert results["score"] == 40
    assert EMULATOR in results["output"]
    assert "60 points are still open" in results["output"]


def test_gradescope_falls_back_where_no_desk_answers_and_the_key_is_gone_by_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In half a CPU. The hand-in includes a file of the autograder's through a link, too: nothing follows it."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/desk_key").write_text("the course's key\n", encoding="utf-8")
    (tmp_path / "source/desk_known_hosts").write_text("", encoding="utf-8")
    hand_in = tmp_path / "hand-in"
    hand_in.mkdir()
    (hand_in / "spmm.cu").write_text('#include "link.cuh"\n', encoding="utf-8")
    (hand_in / "link.cuh").symlink_to("/autograder/source/settings.env")
    settings = f"TOKEN=1\nLAB=spmm\nCASES={CASE}\nALLOW_UNSANDBOXED=1\nDESK=nobody@127.0.0.1:9\nDESK_WAIT=60\n"
    done = gradescope(tmp_path, hand_in, settings, cpu=0.5)
    assert done.returncode == 0, done.stdout + done.stderr
    results = results_of(tmp_path, capsys)
    assert "The course's GPU did not judge it: " in results["output"]
    assert "127.0.0.1" in results["output"]
    assert "link.cuh" in results["output"]
    assert not (tmp_path / "source/desk_key").exists()
    assert "TOKEN" not in json.dumps(results), "a compiler shows the lines that it does not understand"


@pytest.mark.waits
@pytest.mark.skipif(sshd() is None, reason="no sshd on this machine")
def test_gradescope_gets_the_desks_verdict_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A real sshd, with the bridge as one of the desk's students; the hand-in is what `submit` packs."""
    with desk_at(tmp_path / "desk", open_cases=CASE) as desk:
        desk.open_to("gradescope")
        desk.serve()
        place = tmp_path / "autograder"
        (place / "source").mkdir(parents=True)
        lay_out_key(desk, place / "source")
        (tmp_path / "hand-in").mkdir()
        with tarfile.open(tmp_path / "hand-in/spmm-submission.tar.gz", "w:gz") as packed:
            packed.add(RIGHT, "spmm")
        done = gradescope(place, tmp_path / "hand-in", f"LAB=spmm\nDESK={desk.address}\n")
        assert done.returncode == 0, done.stdout + done.stderr
    results = results_of(place, capsys)
    assert f"Judged by the course's desk, without a GPU ({desk.address})." in results["output"]
    assert "## Cases" in results["output"], "the page"
    assert results["output_format"] == "md"
    assert [test["status"] for test in results["tests"]] == ["passed"]


def lay_out_key(desk: Desk, folder: Path) -> None:
    """The bridge's key, and the host's, as README.md of the bridge says."""
    shutil.copy(desk.root / "keys/gradescope", folder / "desk_key")
    (folder / "desk_key").chmod(0o644)  # as a zip brings it
    host = (desk.root / "host.pub").read_text(encoding="utf-8")
    (folder / "desk_known_hosts").write_text(f"[127.0.0.1]:{desk.port} {host}", encoding="utf-8")


def test_gradescopes_archive_of_an_unpacked_package_has_the_desks_files(tmp_path: Path) -> None:
    """`pack` in a folder that stands for one: programs, bridges, and a cache that stays behind."""
    package = tmp_path / "warpgrade-0"
    shutil.copytree(BRIDGES, package / "scripts/bridges")
    for name in ("warpgrade", "bin/warpgrade", ".cache/toolchain.env"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (package / name).chmod(0o755)
    os.utime(package / "warpgrade", (0, 0))  # as scripts/package has all files
    settings = tmp_path / "lab1.env"
    settings.write_text("LAB=spmm\nDESK=gpu.example.edu\nPOLICY=week1.yaml\n", encoding="utf-8")
    (tmp_path / "week1.yaml").write_text("lab: spmm\n", encoding="utf-8")
    command = [package / "scripts/bridges/gradescope/pack", tmp_path / "autograder.zip", settings]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "lab1.env names a desk: expected the file desk_key beside it" in refused.stderr
    for name in ("desk_key", "desk_known_hosts"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = set(archive.namelist())
    files = {"setup.sh", "run_autograder", "settings.env", "desk_key", "desk_known_hosts", "week1.yaml"}
    assert names >= {*files, "warpgrade/bin/warpgrade", "warpgrade/scripts/bridges/warpgrade_bridge.py"}
    assert not [name for name in names if ".cache" in name]


# ---- PrairieLearn: docs/externalGrading.md, apps/grader-host/src/index.ts and lib/config.ts of its repository


OPTIONS = {
    "enabled",
    "image",
    "entrypoint",
    "serverFilesCourse",
    "timeout",
    "enableNetworking",
    "environment",
    "comment",
}
QUESTION = {"uuid", "title", "topic", "type"}


def grader_host(folder: Path, submission: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """/grade is bound, there is no network."""
    shutil.copytree(submission, folder / "student", dirs_exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/data.json").write_text("{}", encoding="utf-8")
    command = [str(BRIDGES / "prairielearn/grade")]
    return container(command, {folder: "/grade"}, network=False, environment=environment)


def test_prairielearn_takes_the_score_of_its_external_grader(tmp_path: Path) -> None:
    """With the settings of the folder's info.json, which has the fields that schemas/infoQuestion.json knows."""
    info = json.loads((BRIDGES / "prairielearn/info.json").read_text(encoding="utf-8"))
    options = info["externalGradingOptions"]
    assert set(options) <= OPTIONS
    assert set(info) >= QUESTION
    assert options["timeout"] <= 600
    assert options["entrypoint"] == "/opt/warpgrade/" + str((BRIDGES / "prairielearn/grade").relative_to(ROOT))
    done = grader_host(tmp_path, RIGHT, **{**options["environment"], "CASES": CASE})
    assert done.returncode == 0, done.stdout + done.stderr
    file = tmp_path / "results/results.json"
    score = lms_import.prairielearn_results(json.loads(file.read_text(encoding="utf-8")), file.stat().st_size)
    assert score == pytest.approx(0.4)


def test_prairielearn_takes_no_attempt_for_a_fault_of_the_judge(tmp_path: Path) -> None:
    """No results and an exit code: grader-host calls the job not succeeded, and the submission not gradable."""
    broken = tmp_path / "grade/broken"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'fault of the judge: the disk is full' >&2\nexit 2\n", encoding="utf-8")
    broken.chmod(0o755)
    (tmp_path / "grade/results").mkdir()
    (tmp_path / "grade/results/results.json").write_text("{}", encoding="utf-8")
    done = grader_host(tmp_path / "grade", RIGHT, LAB="spmm", WARPGRADE="/grade/broken")
    assert done.returncode == 1
    assert "no fault of the hand-in: warpgrade grade: fault of the judge: the disk is full" in done.stderr
    assert not (tmp_path / "grade/results/results.json").exists()


# ---- Autolab: docs/lab.md, "Installing Autograded Labs", and vmms/localDocker.py of autolab/Tango


def test_autolabs_make_ends_in_the_autoresult(tmp_path: Path) -> None:
    """An empty directory with the hand-in under its base name, autograde.tar and autograde-Makefile as Makefile."""
    shutil.copytree(BRIDGES / "autolab", tmp_path / "lab")
    settings = tmp_path / "lab/settings.env"
    text = settings.read_text(encoding="utf-8").replace("=public", f"={CASE}").replace("=/opt/warpgrade", f"={ROOT}")
    settings.write_text(text.replace("ALLOW_UNSANDBOXED=0", "ALLOW_UNSANDBOXED=1"), encoding="utf-8")
    subprocess.run(["make", "-C", tmp_path / "lab"], check=True, capture_output=True)
    job = tmp_path / "job"
    job.mkdir()
    shutil.copy(tmp_path / "lab/autograde.tar", job)
    shutil.copy(tmp_path / "lab/autograde-Makefile", job / "Makefile")
    with tarfile.open(job / "handin.tar.gz", "w:gz") as packed:
        packed.add(OUT_OF_BOUNDS, "spmm")
    done = container(["make"], {job: "/home/autolab"}, folder="/home/autolab")
    assert done.returncode == 0, done.stdout + done.stderr
    assert lms_import.autolab(done.stdout, {"correctness", "speed"}) == {"correctness": 0}
    assert "spmm.cu:6: writes 4 bytes just past the end of C" in done.stdout
    (job / "handin.tar.gz").write_bytes(b"no archive")
    done = container(["make"], {job: "/home/autolab"}, folder="/home/autolab")
    assert done.returncode != 0
    assert '"scores"' not in done.stdout
