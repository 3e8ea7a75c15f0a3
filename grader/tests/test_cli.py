"""Bad input is normal input: one clear line, exit code 1, nothing half-written; work that stops goes on."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words, copy_program, records_of, warpgrade

NAIVE = ROOT / "reference/spmm/naive"
ONE_CASE = ("--backend", "emulator", "--cases", "synth-identity-k32", "--quiet")


def assert_refused(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """Exit code 1 and one line on standard error that says all the fragments."""
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    line = done.stderr.strip()
    assert "\n" not in line, line
    for fragment in fragments:
        assert fragment in line, line


def class_of(folder: Path, *names: str) -> Path:
    """A class of copies of the naive solution."""
    for name in names:
        shutil.copytree(NAIVE, folder / name)
    return folder


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("", ("is empty",)),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1.0\n", ("m.mtx:3", "from 1 to 3", "4 1 1.0")),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n0 1 1.0\n", ("counts from 1",)),
        ("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n", ("expected 2 entries", "got 1")),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n", ("m.mtx:3", "finite")),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1000000000000\n1 1 1\n", ("m.mtx:2", "at most")),
        ("%%MatrixMarket matrix array real general\n3 3\n", ("coordinate",)),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", ("real, integer or pattern",)),
    ],
)
def test_a_bad_matrix_is_refused_with_its_place(tmp_path: Path, content: str, fragments: tuple[str, ...]) -> None:
    """Each mistake is named with file and line, and no output appears."""
    source, target = tmp_path / "m.mtx", tmp_path / "out.npz"
    source.write_text(content, encoding="utf-8")
    assert_refused(warpgrade("data", "import", source, "--output", target), *fragments)
    assert [p.name for p in tmp_path.iterdir()] == ["m.mtx"]


def test_a_truncated_gz_is_refused(tmp_path: Path) -> None:
    """The size line is there, the end of the compressed stream is not."""
    lines = "".join(f"{i} {i} 1.0\n" for i in range(1, 20001))
    whole = gzip.compress(f"%%MatrixMarket matrix coordinate real general\n20000 20000 20000\n{lines}".encode())
    source = tmp_path / "m.mtx.gz"
    source.write_bytes(whole[: len(whole) // 2])
    assert_refused(warpgrade("data", "import", source, "--output", tmp_path / "out.npz"), "cut off")
    assert not (tmp_path / "out.npz").exists()


def test_missing_things_are_named(tmp_path: Path) -> None:
    """A file, a lab, a dataset, a case, a class, a backend, a run that is not there."""
    assert_refused(warpgrade("data", "import", tmp_path / "none.mtx"), "none.mtx")
    assert_refused(warpgrade("data", "info", "arxif"), "did you mean arxiv")
    assert_refused(warpgrade("labs", "spnn"), "spnn", "spmm")
    assert_refused(warpgrade("grade", tmp_path / "nowhere", "--run", tmp_path / "r"), "nowhere")
    assert_refused(warpgrade("grade", NAIVE, "--run", tmp_path / "r", "--cases", "cora-k33"), "cora-k33")
    assert_refused(warpgrade("grade", NAIVE, "--run", tmp_path / "r", "--backend", "metal"), "metal")
    assert_refused(warpgrade("report", tmp_path), "run.json")
    assert_refused(warpgrade("score", tmp_path / "none"), "is not a run")
    assert warpgrade("grade", "--bogus").returncode == 1
    assert not (tmp_path / "r").exists()


def test_a_policy_with_an_unknown_dataset_is_refused(tmp_path: Path) -> None:
    """Before anything is compiled."""
    policy = tmp_path / "p.yaml"
    text = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    policy.write_text(text.replace("  baseline:\n", "  baseline:\n    citeseer: {32: 1.5}\n", 1), encoding="utf-8")
    assert_refused(
        warpgrade("grade", NAIVE, "--run", tmp_path / "r", "--policy", policy), "thresholds.baseline.citeseer"
    )
    assert not (tmp_path / "r").exists()


def test_paths_with_spaces_and_letters_work(tmp_path: Path) -> None:
    """Nothing between the shell and nvcc minds them."""
    folder = class_of(tmp_path / "Übung 3 – Lösungen", "Zoë Müller", "李 雷")
    done = warpgrade("grade", folder, "--run", tmp_path / "Läufe 1", *ONE_CASE)
    assert done.returncode == 0, done.stderr
    titles = {record["submission"]["title"] for record in records_of(tmp_path / "Läufe 1")}
    assert titles == {"Zoë Müller", "李 雷"}
    assert all(r["outcome"]["verdict"] == "accepted" for r in records_of(tmp_path / "Läufe 1"))


def test_a_read_only_results_folder_is_refused(tmp_path: Path) -> None:
    """As root every folder is writable: a mounted read-only one is used instead."""
    locked = tmp_path / "locked"
    locked.mkdir()
    if os.geteuid() == 0:
        command = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(locked), str(locked), str(WARPGRADE)]
    else:
        locked.chmod(0o500)
        command = [str(WARPGRADE)]
    done = subprocess.run(
        [*command, "grade", str(NAIVE), "--run", str(locked / "run"), *ONE_CASE],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert_refused(done, "locked", "choose")
    assert list(locked.iterdir()) == []


def test_a_full_disk_loses_nothing_and_is_resumed(tmp_path: Path) -> None:
    """A tmpfs too small for the records: exit code 1, what was recorded stays whole, and with room the run goes on."""
    folder = class_of(tmp_path / "class", "ada", "bo", "chen")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)], check=False).returncode
    if mounted != 0:
        pytest.skip("may not mount a tmpfs here")
    try:
        arguments = ("grade", folder, "--run", disk / "run", "--backend", "emulator", "--cases", "public", "--quiet")
        full = warpgrade(*arguments)
        assert full.returncode == 1, full.stderr
        assert "No space left" in full.stderr
        assert not list(disk.rglob("*.tmp*"))
        before = {p: p.read_bytes() for p in (disk / "run/cases").rglob("*.json")}
        for content in before.values():
            json.loads(content)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        done = warpgrade(*arguments)
        assert done.returncode == 0, done.stderr
        assert all(p.read_bytes() == content for p, content in before.items())
        assert len(records_of(disk / "run")) == 3 * len({r["case"]["id"] for r in records_of(disk / "run")})
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_full_for_the_compiler_is_no_mistake_of_the_student(tmp_path: Path) -> None:
    """Ld has 1 MiB left for a program of more: exit code 1 with what to do, and with room the program is right."""
    folder = class_of(tmp_path / "class", "ada") / "ada"
    with (folder / "spmm.cu").open("a", encoding="utf-8") as source:
        source.write(f"// {tmp_path}\n")  # never compiled before
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], check=False).returncode
    if mounted != 0:
        pytest.skip("may not mount a tmpfs here")
    try:
        (disk / "other").write_bytes(bytes(5 << 20))
        arguments = ("check", folder, "--lab", "spmm", "--cases", "synth-ragged-k32")
        full = warpgrade(*arguments, env=os.environ | {"TMPDIR": str(disk)})
        assert_refused(full, "the disk is full", str(disk), "TMPDIR")
        assert "compile_error" not in full.stdout + full.stderr
        (disk / "other").unlink()
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        done = warpgrade(*arguments, env=os.environ | {"TMPDIR": str(disk)})
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Ctrl-C ends it with code 130; the second call judges only the rest."""
    folder = class_of(tmp_path / "class", "ada", "bo", "chen", "dee")  # enough work to be interrupted in
    run = tmp_path / "run"
    arguments = [str(WARPGRADE), "grade", str(folder), "--run", str(run), "--backend", "emulator", "--cases", "public"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while len(list(run.glob("cases/*/*.json"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert "Run the same command again to continue from there" in words
    before = {p: p.stat().st_mtime_ns for p in run.glob("cases/*/*.json")}
    assert before
    done = warpgrade(*arguments[1:])
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} recorded before" in done.stdout
    assert all(p.stat().st_mtime_ns == time_ns for p, time_ns in before.items())


def test_grades_stand_where_feedback_cannot_be_written(tmp_path: Path) -> None:
    """The batch is graded all the same, says what is missing, and the next call catches up."""
    run = tmp_path / "run"
    assert warpgrade("batch", run, "--submissions", class_of(tmp_path / "a", "ada"), *ONE_CASE).returncode == 0
    page = run / "export/feedback/ada/index.html"
    assert page.exists()
    shutil.rmtree(run / "export")
    (run / "export").write_text("in the way", encoding="utf-8")
    done = warpgrade("resume", run)
    assert done.returncode == 0, done.stderr
    assert "not written" in done.stdout and f"warpgrade export {run}" in done.stdout, done.stdout
    assert '"export_failed"' in (run / "events.jsonl").read_text(encoding="utf-8")
    (run / "export").unlink()
    assert warpgrade("resume", run).returncode == 0
    assert page.exists()


def test_the_record_has_the_memory_that_the_plan_holds(tmp_path: Path) -> None:
    """What was given back before the plan returned is not counted."""
    source = (NAIVE / "spmm.cu").read_text(encoding="utf-8")
    for old, new in (
        ("SpmmPlan** plan, cudaStream_t) {", "SpmmPlan** plan, cudaStream_t stream) {"),
        (
            "  *plan = nullptr;\n",
            """  void *scratch = nullptr, *pooled = nullptr;
  cudaMalloc(&scratch, 5 << 20);
  cudaMalloc(reinterpret_cast<void**>(plan), 3 << 20);
  cudaMallocAsync(&pooled, 7 << 20, stream);
  cudaFreeAsync(pooled, stream);
  cudaFree(scratch);
""",
        ),
        ("void spmm_free(SpmmPlan*) {}", "void spmm_free(SpmmPlan* plan) { cudaFree(plan); }"),
    ):
        assert old in source
        source = source.replace(old, new)
    (tmp_path / "class/holding").mkdir(parents=True)
    (tmp_path / "class/holding/spmm.cu").write_text(source, encoding="utf-8")
    class_of(tmp_path / "class", "ada")
    run = tmp_path / "run"
    assert warpgrade("grade", tmp_path / "class", "--run", run, *ONE_CASE).returncode == 0
    plans = {record["submission"]["id"]: record["plan"] for record in records_of(run)}
    assert plans == {"ada": {"device_bytes": 0}, "holding": {"device_bytes": 3 << 20}}


@pytest.mark.parametrize("killed_while", ["moving", "judging"])
def test_an_interrupted_regrade_goes_on_and_judges_nothing_twice(tmp_path: Path, killed_while: str) -> None:
    """The same command finishes what it had begun; once it has ended it is a new request."""
    run = tmp_path / "run"
    folder = class_of(tmp_path / "class", "ada", "bo", "chen")
    cases = ("--backend", "emulator", "--cases", "public", "--quiet")
    assert warpgrade("batch", run, "--submissions", folder, *cases).returncode == 0
    first = {path: path.stat().st_ino for path in run.glob("cases/*/*.json")}
    meant = {path.relative_to(run / "cases") for path in first if "chen" not in path.parts}

    def moved() -> set[Path]:
        return {path.relative_to(run / "superseded/1") for path in run.glob("superseded/1/*/*.json")}

    def is_time_to_kill() -> bool:
        if killed_while == "moving":
            return len(moved()) >= 2
        return moved() == meant and any(run.glob("cases/ada/*.json"))

    command = ["regrade", str(run), "--only", "ada,bo"]
    with subprocess.Popen([str(WARPGRADE), *command], stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not is_time_to_kill():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.001)
        process.kill()
    judged = {path: path.stat().st_ino for path in run.glob("cases/*/*.json")}
    judged = {path: inode for path, inode in judged.items() if first[path] != inode}
    done = warpgrade(*command)
    assert done.returncode == 0, done.stderr
    assert moved() == meant
    assert {path: path.stat().st_ino for path in judged} == judged, "judged twice"
    after = {path: path.stat().st_ino for path in run.glob("cases/*/*.json")}
    assert set(after) == set(first)
    anew = {path.relative_to(run / "cases") for path, inode in after.items() if first[path] != inode}
    assert anew == meant
    assert not (run / "superseded/2").exists()
    assert warpgrade(*command).returncode == 0
    assert (run / "superseded/2/ada").exists()


def test_a_judge_that_does_not_hear_the_end_does_not_keep_the_batch(tmp_path: Path) -> None:
    """As one that is told to end before it listens to signals: it is killed, and the command ends."""
    programs, begun = tmp_path / "bin", tmp_path / "begun"
    copy_program(programs)
    deaf = programs / "warpgrade-judge"
    deaf.write_text(f"#!/bin/sh\ntrap '' TERM\ntouch {begun}\nexec sleep 300\n", encoding="utf-8")
    deaf.chmod(0o755)
    arguments: Words = [programs / "warpgrade", "grade", class_of(tmp_path / "class", "ada"), "--run", tmp_path / "run"]
    with subprocess.Popen([*arguments, *ONE_CASE], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail("it still waits for its judge")
    assert process.returncode == 130


def test_another_class_in_the_same_run_folder_is_refused_or_moved_aside(tmp_path: Path) -> None:
    """Records of two classes never mix."""
    run = tmp_path / "run"
    assert warpgrade("grade", class_of(tmp_path / "a", "ada"), "--run", run, *ONE_CASE).returncode == 0
    other = class_of(tmp_path / "b", "bo")
    assert_refused(warpgrade("grade", other, "--run", run, *ONE_CASE), "submissions changed", "--fresh")
    assert warpgrade("grade", other, "--run", run, *ONE_CASE, "--fresh").returncode == 0
    assert (tmp_path / "run.old-1/run.json").exists()


def test_a_changed_record_is_noticed(tmp_path: Path) -> None:
    """A grade edited by hand does not pass as one."""
    run = tmp_path / "run"
    assert warpgrade("grade", class_of(tmp_path / "a", "ada"), "--run", run, *ONE_CASE).returncode == 0
    record = next(run.glob("cases/ada/*.json"))
    record.write_text(record.read_text().replace('"accepted"', '"rejected"'))
    assert_refused(warpgrade("score", run), record.name, "checksum")


def test_scoring_again_needs_no_judge_and_gives_the_same(tmp_path: Path) -> None:
    """Records in, points out."""
    run = tmp_path / "run"
    assert warpgrade("grade", class_of(tmp_path / "a", "ada"), "--run", run, *ONE_CASE).returncode == 0
    first = (run / "scores.json").read_bytes()
    assert warpgrade("score", run).returncode == 0
    assert (run / "scores.json").read_bytes() == first


def test_a_report_without_its_python_says_what_installs_it(tmp_path: Path) -> None:
    """No Python at all, and one without the packages; the run is as it was."""
    run, home, programs = tmp_path / "run", tmp_path / "home", tmp_path / "bin"
    assert warpgrade("grade", class_of(tmp_path / "a", "ada"), "--run", run, *ONE_CASE).returncode == 0
    for folder in (home, programs):
        folder.mkdir()
    for room in ("datasets", "grader", "reference"):
        (home / room).symlink_to(ROOT / room)
    (programs / "env").symlink_to("/usr/bin/env")
    environment = os.environ | {"WARPGRADE_HOME": str(home), "PATH": str(programs)}
    assert_refused(warpgrade("report", run, env=environment), "python3", "scripts/bootstrap")
    (programs / "python3").symlink_to(sys.executable)  # there, but the reports' package is not
    assert_refused(warpgrade("report", run, env=environment), "No module named", "scripts/bootstrap")
    assert not (run / "report").exists()


def test_check_tells_a_student_what_is_wrong_and_how_to_repeat_it() -> None:
    """Exit code 3, the place, what was wanted and got, the pattern in it, and the command to repeat it."""
    wrong = Path(__file__).parent / "submissions/wrong_answer/empty_rows"
    done = warpgrade("check", wrong, "--backend", "emulator", "--cases", "synth-empty-rows-k32")
    assert done.returncode == 3, done.stdout + done.stderr
    for words in (
        "wrong_answer spmm/synth-empty-rows-k32",
        "want 0 got",
        "without entries",
        "never written",
        "again: warpgrade check",
        "0 of 1 cases accepted on the emulator",
    ):
        assert words in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("lab", "wrong", "case", "words"),
    [
        ("apsp", "apsp_assumes_symmetry", "one-way-90", r"graph\[\d+,\d+\] want \d+ got \d+"),
        ("gcn", "gcn_factors_in_fp32", "aggregate-even", r"out\[\d+,\d+\] want \S+ got \S+"),
    ],
)
def test_check_tells_what_is_wrong_in_every_lab(lab: str, wrong: str, case: str, words: str) -> None:
    """Whatever the output is called and holds, on whatever was drawn; the command that repeats it names the lab."""
    folder = Path(__file__).parent / "submissions/wrong_answer" / wrong
    done = warpgrade("check", folder, "--lab", lab, "--backend", "emulator", "--cases", case)
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(words, done.stdout), done.stdout
    assert f"again: warpgrade check {folder} --lab {lab} --cases {case}" in done.stdout


def test_check_tells_of_a_leak_beside_accepted_and_once() -> None:
    """The line that allocated; a finding of several cases is one report."""
    leaks = Path(__file__).parent / "submissions/accepted/leaks_its_plan"
    done = warpgrade("check", leaks, "--backend", "emulator", "--cases", "synth-empty-rows-k32", "synth-hub-k32")
    assert done.returncode == 0, done.stdout + done.stderr
    line = 1 + (leaks / "spmm.cu").read_text(encoding="utf-8").splitlines().index(
        "  if (cudaError_t error = cudaMalloc(&(*plan)->row_offsets, bytes)) return error;"
    )
    assert "accepted, but something should be corrected" in done.stdout
    assert done.stdout.count(f"spmm.cu:{line}: `(*plan)->row_offsets` (allocation #1, ") == 1, done.stdout
    assert "2 of 2 cases accepted" in done.stdout


def test_the_seed_stays_hidden_and_is_committed_to(tmp_path: Path) -> None:
    """The record carries the seed's hash, not the seed; the seed's folder is the owner's alone."""
    run = tmp_path / "run"
    assert warpgrade("grade", class_of(tmp_path / "a", "ada"), "--run", run, *ONE_CASE).returncode == 0
    seed = (run / "secret/seed").read_text()
    assert all(seed not in p.read_text() for p in run.rglob("*.json*"))
    assert (run / "secret").stat().st_mode & 0o077 == 0
    commitments = {record["seed_commitment"] for record in records_of(run)}
    assert commitments == {hashlib.sha256(seed.encode()).hexdigest()}


def test_sweep_names_the_best_variant_and_draws_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    step = ROOT / "reference/spmm/steps/04_row_split"
    options = ("--cases", "synth-ragged-k32", "--backend", "emulator", "--allow-unsandboxed", "--run", run)
    done = warpgrade("sweep", step, "--param", "SPMM_SPLIT_SIZE=4,128", "--param", "SPMM_C=1", *options)
    assert done.returncode == 0, done.stderr
    assert "best single choice: SPMM_SPLIT_SIZE=128 SPMM_C=1" in done.stdout
    assert (run / "report/sweep.png").exists()
    again = warpgrade("sweep", step, "--param", "SPMM_SPLIT_SIZE=4,128", "--param", "SPMM_C=1", *options)
    assert again.returncode == 0, again.stderr  # goes on in the same folder, where nothing is left to judge


def test_sweep_refuses_a_parameter_that_changes_nothing(tmp_path: Path) -> None:
    done = warpgrade("sweep", ROOT / "reference/spmm/naive", "--param", "TILE=1,2", "--run", tmp_path / "run")
    assert done.returncode == 1
    assert "TILE appears in none of the sources" in done.stderr
    assert not (tmp_path / "run").exists()


def test_submit_packs_sources_and_a_manifest_the_same_way_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(NAIVE, folder)
    (folder / "notes.pdf").write_text("no source")
    archives = [tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"]
    for archive in archives:
        done = warpgrade("submit", folder, "--lab", "spmm", "--output", archive)
        assert done.returncode == 0, done.stderr
        assert "left out notes.pdf" in done.stdout
        os.utime(folder / "spmm.cu", (1, 1))
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with tarfile.open(archives[0]) as packed:
        assert sorted(name for name in packed.getnames() if "." in name) == ["spmm/manifest.json", "spmm/spmm.cu"]
        packed.extractall(tmp_path / "unpacked", filter="data")
    manifest = json.loads((tmp_path / "unpacked/spmm/manifest.json").read_text())
    source = (folder / "spmm.cu").read_bytes()
    assert manifest["files"] == [
        {"path": "spmm.cu", "bytes": len(source), "sha256": hashlib.sha256(source).hexdigest()}
    ]
    graded = warpgrade("grade", tmp_path / "unpacked", *ONE_CASE, "--run", tmp_path / "run", "--allow-unsandboxed")
    assert graded.returncode == 0, graded.stderr
    assert records_of(tmp_path / "run")[0]["submission"]["hash"] == manifest["hash"]


def test_submit_packs_nothing_that_does_not_compile_unless_forced(tmp_path: Path) -> None:
    folder, archive = tmp_path / "mine", tmp_path / "mine.tar.gz"
    folder.mkdir()
    (folder / "spmm.cu").write_text("this is no CUDA\n")
    refused = warpgrade("submit", folder, "--output", archive)
    assert refused.returncode == 3, refused.stderr
    assert "nothing was packed" in refused.stderr
    assert not archive.exists()
    assert warpgrade("submit", folder, "--output", archive, "--force").returncode == 0
    assert archive.exists()
    (folder / "spmm.cu").unlink()
    assert_refused(warpgrade("submit", folder, "--output", archive), "no source file")
