"""A class graded on a real Slurm of several nodes, while parts of it are taken away: the grades of the quiet run.

slurm_cluster.py says what they need.
"""

from __future__ import annotations

import errno
import json
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import WARPGRADE, copy_program, warpgrade
from slurm_cluster import (
    HAS_MEMORY_GROUPS,
    Cluster,
    command_of,
    kill,
    needs_accounting,
    needs_slurm,
    parent_of,
    processes,
)

HERE = Path(__file__).parent
CASES = "synth-single-row-k32,synth-identity-k32,synth-all-empty-k32"
CLASS = HERE / "demo_class"
COPIES = 3  # of each of the demo's eight students
pytestmark = pytest.mark.waits


def task_processes(kind: str, run: Path) -> list[int]:
    """The processes of the run's tasks of a kind."""
    return [pid for pid in processes() if f"batch-task {kind} {run} " in command_of(pid)]


def judges_of(run: Path) -> list[int]:
    """The judge processes of the run's tasks."""
    tasks = set(task_processes("judge", run))
    found = []
    for pid in processes():
        try:
            if command_of(pid).split(" ")[0].endswith("warpgrade-judge") and parent_of(pid) in tasks:
                found.append(pid)
        except OSError:
            continue
    return found


def judge_tasks_on(cluster: Cluster, run: Path, node: str) -> list[int]:
    """The node's processes of tasks that judge."""
    of_run = set(task_processes("judge", run))
    return [pid for pid, name in cluster.processes_with("SLURMD_NODENAME") if name == node and pid in of_run]


def wait_until(what: str, condition: Callable[[], Any], timeout_s: float, every_s: float = 0.1) -> Any:
    """The condition's value once it is true."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(every_s)
    pytest.fail(f"after {timeout_s} s still not: {what}")


def records(run: Path) -> list[Path]:
    """The verdicts so far."""
    return [path for path in run.glob("cases/*/*.json") if not path.name.endswith(".fault.json")]


def events(run: Path) -> list[dict[str, Any]]:
    """What the log says."""
    return [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").strip().split("\n")]


def grades(run: Path) -> dict[str, Any]:
    """What students get: points, verdicts, of each case too."""
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    return {
        s["id"]: (s["points"], s["verdict"], {c["id"]: (c["verdict"], c["points"]) for c in s["cases"]})
        for s in scores["submissions"]
    }


def make_class(folder: Path, copies: int) -> Path:
    """The demo's students, several times over; copies are compiled once."""
    for student in sorted(path for path in CLASS.iterdir() if path.is_dir()):
        for copy in range(copies):
            shutil.copytree(student, folder / f"{student.name}-{copy}")
    return folder


def site_file(folder: Path, **settings: Any) -> Path:
    """A site's file for the cluster above; JSON is YAML."""
    site = {
        "compile": {"partition": "cpu"},
        "judge": {"partition": "gpu", "gres": "gpu:1"},
        "aggregate": {"partition": "cpu"},
        "compile_per_task": 8,
        "submission_minutes": 1,
        "task_minutes": 3,
        **settings,
    }
    path = folder / "site.yaml"
    path.write_text(json.dumps(site), encoding="utf-8")
    return path


def grade_quietly(folder: Path, submissions: Path) -> dict[str, Any]:
    """The same class on this machine, undisturbed."""
    run = folder / "local"
    done = warpgrade("batch", run, "--submissions", submissions, "--cases", CASES, "--backend", "emulator", "--quiet")
    assert done.returncode == 0, done.stderr
    return grades(run)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A results folder with a quota."""
    folder = tmp_path / "results"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Three nodes without accounting: states come from scontrol. They hold tasks to their memory, where that is had."""
    made = Cluster(tmp_path / "slurm", 3, constrain_memory=HAS_MEMORY_GROUPS)
    yield made
    made.stop()


def fill(folder: Path) -> Path:
    """Takes all the room that is left."""
    path = folder / "filler"
    try:
        # Without a buffer: what did not fit would be written once more by the end of the block.
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 65536)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    return path


def events_so_far(run: Path) -> str:
    """What each task has logged until now."""
    return "".join(path.read_text(encoding="utf-8") for path in run.glob("events/*.jsonl"))


def kill_a_judge(run: Path) -> bool:
    """Kills one; false when each had no case yet, so that nobody missed it."""
    for judge in judges_of(run):
        kill(judge)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            if '"judge_died"' in events_so_far(run):
                return True
            time.sleep(0.1)
    return False


def disk_fills_and_is_met(disk: Path, run: Path, hold: Path) -> bool:
    """Full for four seconds; false when no task that lives on had anything to write, as on a loaded machine.

    A task of the dead node may meet it as well, but nobody knows how long that one lives.
    """
    filler = fill(disk)
    hold.unlink()
    time.sleep(4)
    hold.touch()
    filler.unlink()
    time.sleep(1.5)  # who waits for room looks every second, and writes then what it met
    return '"disk_freed"' in events_so_far(run)


def ask_without_controller(cluster: Cluster, run: Path) -> subprocess.Popen[bytes]:
    """Somebody who goes on with the batch while the controller is away; status answers from the records."""
    started = []

    def meanwhile() -> None:
        started.append(subprocess.Popen([WARPGRADE, "resume", run], env=cluster.environment, stdout=subprocess.DEVNULL))
        wait_until("a controller that is missed", lambda: '"controller_silent"' in events_so_far(run), 60)
        status = warpgrade("status", run, env=cluster.environment, timeout=60)
        assert status.returncode == 0, status.stderr
        assert "does not answer" in status.stdout and "/72" in status.stdout, status.stdout
        assert started[0].poll() is None, "it did not wait for the controller"

    cluster.restart_controller(meanwhile)
    return started[0]


@needs_slurm
def test_a_class_survives_a_night_of_faults(tmp_path: Path, small_disk: Path, cluster: Cluster) -> None:
    """A judge, a node, the disk, the controller and the aggregator fail in turn; grades are those of the quiet run."""
    submissions = make_class(tmp_path / "class", COPIES)
    quiet = grade_quietly(tmp_path, submissions)
    assert len(quiet) >= 24
    run = small_disk / "night"
    # While this file is there, judges wait before each case: work is left for the next fault however slow this test is.
    hold = tmp_path / "hold"
    hold.touch()
    held = {**cluster.environment, "WARPGRADE_INJECT": f"stage:start,kind:wait,while:{hold}"}
    command = ("batch", run, "--submissions", submissions, "--cases", CASES, "--backend", "emulator", "--quiet")
    begun = warpgrade(*command, "--executor", "slurm", "--site", site_file(tmp_path), env=held)
    assert begun.returncode == 0, begun.stderr

    task = wait_until("a task that judges", lambda: task_processes("judge", run), 300)[0]
    groups = Path(f"/proc/{task}/cgroup").read_text(encoding="utf-8")
    assert re.search("memory:.*/slurm.*/job_", groups) or not HAS_MEMORY_GROUPS, groups
    # A judge dies at its work.
    wait_until("a judge that dies at its work", lambda: kill_a_judge(run), 300)
    # A node is gone, and comes back much later.
    wait_until("a task on n2", lambda: judge_tasks_on(cluster, run, "n2"), 300)
    cluster.kill_node("n2")
    # The results folder is full for a while.
    wait_until("a task that met the full disk", lambda: disk_fills_and_is_met(small_disk, run, hold), 300)
    # The controller is away while somebody asks after the batch, and remembers. Who goes on with it waits.
    with ask_without_controller(cluster, run) as resumed:
        assert resumed.wait(120) == 0
    # The cluster's watchdog gives the node up at last, and later it is back.
    cluster.run("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=silent")
    cluster.start_node("n2")
    hold.unlink()
    # Whoever aggregates is killed at once.
    kill(wait_until("the aggregator", lambda: task_processes("aggregate", run), 600, 0.02)[0])
    wait_until("the end", lambda: (run / "scores.json").exists() and not warpgrade_missing(run), 600, 0.5)
    wait_until(
        "the last event",
        lambda: (run / "events.jsonl").exists() and '"scored"' in (run / "events.jsonl").read_text(),
        120,
        0.5,
    )

    assert grades(run) == quiet
    assert len(list((run / "export/feedback").glob("*/index.html"))) == len(quiet), "the morning's feedback"
    log = events(run)
    recorded = Counter((e["submission"], e["case"]) for e in log if e["event"] == "case_recorded")
    assert len(recorded) == len(quiet) * 3
    assert set(recorded.values()) == {1}, "graded twice"
    seen = {e["event"] for e in log if e["kind"] == "infrastructure"}
    assert {"judge_died", "disk_full", "disk_freed", "controller_silent", "aggregator_lost"} <= seen, seen
    assert seen & {"node_lost", "requeued"}, seen
    assert seen & {"task_lost", "preempted"}, seen

    # The same command has nothing left to do, and repeats nothing.
    stamps = {path: path.stat().st_mtime_ns for path in records(run)}
    again = warpgrade(*command, env=cluster.environment)
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in records(run)} == stamps
    assert grades(run) == quiet
    status = warpgrade("status", run, env=cluster.environment)
    assert "72/72" in status.stdout and "disk_full" in status.stdout, status.stdout


def warpgrade_missing(run: Path) -> bool:
    """Whether a case has no verdict."""
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return len(records(run)) < len(description["submissions"]) * len(description["cases"])


@pytest.fixture(scope="module")
def accounting_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes with slurmdbd and MariaDB, and arrays of three tasks at most."""
    made = Cluster(tmp_path_factory.mktemp("accounting") / "slurm", 2, accounting=True, max_array_size=4)
    made.run("sacctmgr", "-i", "add", "account", "course")
    made.run("sacctmgr", "-i", "add", "user", "root", "account=course", "MaxSubmitJobs=20")
    yield made
    made.stop()


@needs_slurm
@needs_accounting
def test_limits_settings_and_preemption_on_a_cluster(tmp_path: Path, accounting_cluster: Cluster) -> None:
    """Arrays and tasks fit the cluster's limits, jobs carry the site's settings, and what others displace is redone.

    The run is named as people name it: relative to where they are, with a slash behind it, from inside.
    """
    cluster = accounting_cluster
    submissions = tmp_path / "class"
    for copy in range(10):
        shutil.copytree(CLASS / "bo.naive", submissions / f"bo{copy}")
    judge = {
        "partition": "gpu", "constraint": "big", "time": "00:20:00", "options": ["--comment=week seven", "--nice=5"],
    }  # fmt: skip
    site = site_file(tmp_path, account="course", judge=judge, compile_per_task=2, task_minutes=1)
    command = ("batch", "run/", "--submissions", "class/", "--cases", "synth-*-k32", "--backend", "emulator")
    here: dict[str, Any] = {"env": cluster.environment, "cwd": tmp_path}
    begun = warpgrade(*command, "--executor", "slurm", "--site", site, **here)
    assert begun.returncode == 0, begun.stderr
    run = tmp_path / "run"
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["run"] == "run"
    plan = json.loads((run / "rounds/1/plan.json").read_text(encoding="utf-8"))["plan"]
    assert len(plan["compile"]) + len(plan["judge"]) <= 20 - 4, "the account's limit"
    assert len(plan["judge_arrays"]) > 1 and all(part["count"] <= 3 for part in plan["judge_arrays"])
    assert sum(part["count"] for part in plan["judge_arrays"]) == len(plan["judge"])

    wait_until("a record", lambda: records(run), 300)
    cluster.run("sbatch", "-p", "urgent", "-N2", "--exclusive", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "sleep 2")
    for again in (("resume", "run"), ("resume", "."), ("batch", run, "--submissions", submissions)):
        folder = run if again[-1] == "." else tmp_path
        done = warpgrade(*again, env=cluster.environment, cwd=folder)
        assert done.returncode == 0 and "on its way" in done.stdout, done.stdout + done.stderr
    wait_until("the end", lambda: (run / "scores.json").exists() and not warpgrade_missing(run), 600, 0.5)
    wait_until("the last event", lambda: '"scored"' in events_so_far(run), 60, 0.5)

    listed = cluster.run("squeue", "-h", "--states=all", "-o", "%F|%j|%a|%P|%f|%l|%b|%k|%y").splitlines()
    jobs = {line.split("|")[1]: line.split("|")[2:] for line in set(listed) if "|wg-" in line}
    ids = Counter(line.split("|")[1] for line in set(listed))
    assert set(ids.values()) == {1}, "submitted twice"
    for name, settings in jobs.items():
        assert settings[0] == "course"
        if "-judge-" in name:
            assert settings[1:] == ["gpu", "big", "20:00", "gres:gpu:1", "week seven", "5"], settings
    log = events(run)
    recorded = Counter((e["submission"], e["case"]) for e in log if e["event"] == "case_recorded")
    assert set(recorded.values()) == {1} and len(recorded) == len(records(run))
    told = {e["message"] for e in log if e["kind"] == "infrastructure" and e["event"] == "preempted"}
    assert any(message.startswith("Slurm: PREEMPTED") for message in told), log


@needs_slurm
@needs_accounting
def test_a_class_changes_between_rounds_and_never_within_one(tmp_path: Path, accounting_cluster: Cluster) -> None:
    """A forgotten hand-in is a round of its own; while tasks are on their way the class stays as they know it."""
    cluster, run = accounting_cluster, tmp_path / "run"
    shutil.copytree(CLASS / "bo.naive", tmp_path / "class/bo")
    shutil.copytree(CLASS / "ada.row_per_warp", tmp_path / "more/ada")
    options = ("--submissions", tmp_path / "class", "--cases", CASES, "--backend", "emulator", "--executor", "slurm")
    add = ("batch", run, "--add", tmp_path / "more", "--reason", "forgotten", "--yes")
    begun = warpgrade("batch", run, *options, "--site", site_file(tmp_path), env=cluster.environment)
    assert begun.returncode == 0, begun.stderr
    early = warpgrade(*add, env=cluster.environment)
    assert early.returncode == 1 and "is on its way" in early.stderr, early.stdout + early.stderr
    wait_until("the first round", lambda: (run / "rounds/1/done.json").exists(), 300, 0.5)
    before = {path: path.stat().st_mtime_ns for path in records(run)}
    added = warpgrade(*add, env=cluster.environment)
    assert added.returncode == 0 and "round 2" in added.stdout, added.stdout + added.stderr
    wait_until("the second round", lambda: (run / "rounds/2/done.json").exists(), 300, 0.5)
    after = {path: path.stat().st_mtime_ns for path in records(run)}
    assert before.items() <= after.items() and {path.parent.name for path in after.keys() - before.keys()} == {"ada"}
    assert set(grades(run)) == {"ada", "bo"}


@needs_slurm
@needs_accounting
def test_sacct_tells_what_became_of_a_task(tmp_path: Path, accounting_cluster: Cluster) -> None:
    """With slurmdbd the tasks' states are sacct's; what a wedged node left is judged in the next round, elsewhere."""
    cluster = accounting_cluster
    submissions = tmp_path / "class"
    for name in ("ada.row_per_warp", "bo.naive", "eli.empty_stub"):
        shutil.copytree(CLASS / name, submissions / name)
    run = tmp_path / "run"
    wedged = tmp_path / "n1-is-wedged"
    wedged.touch()
    # The probe of a node whose GPU has gone, for the whole night.
    probe = ["sh", "-c", f'test "$SLURMD_NODENAME" != n1 || ! test -e {wedged}']
    site = site_file(
        tmp_path,
        probe=probe,
        task_minutes=1,
        judge={"partition": "gpu", "gres": "gpu:1", "options": ["--exclusive"]},
    )
    done = warpgrade(
        *(
            "batch",
            run,
            "--submissions",
            submissions,
            "--cases",
            "synth-identity-k32,synth-all-empty-k32",
            "--backend",
            "emulator",
        ),
        *("--quiet", "--executor", "slurm", "--site", site),
        env=cluster.environment,
    )
    assert done.returncode == 0, done.stderr
    wait_until("the end", lambda: (run / "scores.json").exists() and not warpgrade_missing(run), 600, 0.5)
    wait_until(
        "the last event", lambda: '"scored"' in "".join(p.read_text() for p in run.glob("events/*.jsonl")), 30, 0.5
    )
    subprocess.run([WARPGRADE, "collect", run], check=True, capture_output=True)
    log = events(run)
    assert any(e["event"] == "gpu_wedged" and e["node"] == "n1" for e in log), log
    assert any(e["event"] == "task_lost" and e["message"].startswith("Slurm: FAILED") for e in log), log
    after = [e["node"] for e in log if e["event"] == "task_started" and e["message"] == "judge" and e["round"] > 1]
    assert "n1" not in after
    assert len(records(run)) == 6


@needs_slurm
@needs_accounting
def test_a_run_is_judged_on_one_gpu_model(tmp_path: Path, accounting_cluster: Cluster) -> None:
    """Tasks on a node with another GPU judge nothing; later ones avoid it. The nodes' GPUs are those of a script.

    Nothing here compiles, so that no kernel needs a GPU: all else is as with one.
    """
    programs, submissions, run = tmp_path / "bin", tmp_path / "class", tmp_path / "run"
    copy_program(programs)
    driver = programs / "warpgrade-judge"
    device = '{"name": "GPU of $SLURMD_NODENAME", "compute_capability": 90}'
    driver.write_text(f"""#!/bin/sh\ntest "$1" != --probe || cat <<END\n{device}\nEND\n""", encoding="utf-8")
    driver.chmod(0o755)
    for copy in range(4):
        shutil.copytree(CLASS / "hana.syntax_error", submissions / f"hana{copy}")
    site = site_file(tmp_path, architecture="90", gpu_model="of n2", task_minutes=1)
    done = subprocess.run(
        [
            *(programs / "warpgrade", "batch", run, "--submissions", submissions, "--cases", "synth-identity-k32"),
            *("--backend", "cuda", "--executor", "slurm", "--site", site),
        ],
        env=accounting_cluster.environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wait_until("the end", lambda: (run / "scores.json").exists() and not warpgrade_missing(run), 600, 0.5)
    wait_until("the last event", lambda: '"scored"' in events_so_far(run), 60, 0.5)
    assert warpgrade("collect", run).returncode == 0
    log = events(run)
    assert {e["node"] for e in log if e["event"] == "wrong_gpu"} == {"n1"}, log
    assert {e["node"] for e in log if e["event"] == "case_recorded"} == {"n2"}, log
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["device"]["name"] == "GPU of n2"


def test_a_site_file_is_checked(tmp_path: Path) -> None:
    """A wrong key or value is named with its file, before anything is copied."""
    submissions = tmp_path / "class"
    shutil.copytree(CLASS / "bo.naive", submissions / "bo")
    for text, fragment in (
        ("judge: {partitions: gpu}", "partitions"),
        ("rounds: many", "rounds"),
        ("judge: [gpu]", "judge"),
        ("a: [", "not YAML"),
    ):
        site = tmp_path / "site.yaml"
        site.write_text(text, encoding="utf-8")
        done = warpgrade("batch", tmp_path / "run", "--submissions", submissions, "--executor", "slurm", "--site", site)
        assert done.returncode == 1, done.stdout
        assert fragment in done.stderr and str(site) in done.stderr, done.stderr
        assert not (tmp_path / "run").exists()
