"""What a university's cluster is told, and what it does to a class: limits, settings, refusals, full disks.

On a real Slurm; slurm_cluster.py says what that needs. Formats are those of the manual pages of Debian's packages:
sbatch(1), squeue(1), sacct(1), cgroup.conf(5).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, warpgrade
from slurm_class import CASES, NAIVE, Run, log_lines, wait_until
from slurm_cluster import Cluster, needs_memory_groups, needs_slurm

pytestmark = pytest.mark.waits

# It holds 1.2 GiB of host memory for each run, which the policy allows.
HEAVY = NAIVE.replace("cudaError_t vector_add_run(", "#include <vector>\n\ncudaError_t vector_add_run(", 1).replace(
    "  vector_add_kernel<<<",
    "  static std::vector<char> held(1200u << 20, 1);\n  if (held[n % 4096] != 1) return cudaErrorUnknown;\n"
    "  vector_add_kernel<<<",
    1,
)
# It holds 700 MiB of device memory for each run, and fills it.
HEAVY_ON_DEVICE = NAIVE.replace(
    "  vector_add_kernel<<<",
    "  static void* held = nullptr;\n"
    "  if (held == nullptr && cudaMalloc(&held, 700u << 20) != cudaSuccess) return cudaErrorMemoryAllocation;\n"
    "  cudaMemsetAsync(held, 1, 700u << 20, stream);\n"
    "  vector_add_kernel<<<",
    1,
)
# On an emulated B200 it sleeps until somebody ends it.
SLOW_ON_B200 = NAIVE.replace(
    "cudaError_t vector_add_run(", "#include <unistd.h>\n#include <cstring>\n\ncudaError_t vector_add_run(", 1
).replace(
    "  vector_add_kernel<<<",
    "  cudaDeviceProp device;\n"
    '  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess && std::strstr(device.name, "B200")) sleep(500);\n'
    "  vector_add_kernel<<<",
    1,
)
NEEDED_MB = 2048 + 1024 + 2048  # the submission's, the emulated device's, the judge's


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node that holds tasks to their memory."""
    made = Cluster(tmp_path_factory.mktemp("limited") / "slurm", 1, constrain_memory=True)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes."""
    made = Cluster(tmp_path_factory.mktemp("plain") / "slurm", 2)
    yield made
    made.stop()


@needs_slurm
def test_a_site_that_gives_less_than_the_policy_allows_is_refused_with_the_sum(
    tmp_path: Path, cluster: Cluster
) -> None:
    """Memory and time, before anything is submitted; without them tasks get what the policy's limits ask for."""
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    low = run.batch(run.site(judge={"partition": "gpu", "memory": "800M"}))
    assert low.returncode == 1, low.stdout
    words = f"2048 MiB of a submission's (limits.host_memory_mb) + 1024 MiB of the emulated device .* = {NEEDED_MB} MiB"
    assert re.search("site.yaml: judge: memory: 800M is less", low.stderr), low.stderr
    assert re.search(
        words.replace("(limits.host_memory_mb)", r"\(limits.host_memory_mb\)").replace("+", r"\+"), low.stderr
    )
    short = run.batch(run.site(judge={"partition": "gpu", "time": "2"}))
    assert short.returncode == 1, short.stdout
    # 120 s of the task, 60 s to compile, 3 * 20 s of a case's calls, 120 s of the judge's.
    assert "judge: time: 2 is less" in short.stderr and "= 360 s" in short.stderr, short.stderr
    assert not (run.run / "rounds").exists()
    # What a partition gives to who asks for nothing is less (slurm.conf(5), DefMemPerCPU), and makes no difference.
    cluster.run("scontrol", "update", "PartitionName=gpu", "DefMemPerCPU=400")
    try:
        done = run.batch(run.site())
    finally:
        cluster.run("scontrol", "update", "PartitionName=gpu", "DefMemPerCPU=0")
    assert done.returncode == 0, done.stderr
    # squeue(1): %m is the least memory, %l the limit of time.
    jobs = json.loads((run.run / "rounds/1/submitted.json").read_text())
    asked = cluster.run("squeue", "-h", "--states=all", "-o", "%m|%l", "-j", jobs["judge"][0])
    judge = asked.strip().split("|")
    assert judge[0] in {f"{NEEDED_MB}M", "5G"}, asked
    # A submission of two cases: 120 + 60 + 2 * (60 + 120) s.
    assert judge[1] == "9:00", asked
    # The aggregator's: 512 MiB, and 32 KiB for each of two records.
    assert cluster.run("squeue", "-h", "--states=all", "-o", "%m", "-j", jobs["aggregate"]).strip() == "513M"
    run.scored()
    assert run.verdicts() == {"ada": ["accepted", "accepted"]}


@needs_slurm
@needs_memory_groups
def test_a_task_that_meets_its_memory_limit_costs_no_student_anything(tmp_path: Path, limited: Cluster) -> None:
    """The kernel ends what a student may hold: the cluster's fault, told with names, and repeated with more.

    A line of `setup:` lowers the limit of the first round's task group, as a cluster that counts otherwise would. The
    kernel itself (cgroup-v1/memory.rst) is what this is held against.
    """
    run = Run(tmp_path, limited, {"ada": NAIVE, "hal": HEAVY})
    group = "/sys/fs/cgroup/memory$(grep :memory: /proc/self/cgroup | cut -d: -f3)"
    lower = f"test -e {tmp_path}/met || echo 900M > {group}/memory.limit_in_bytes"
    note = f"touch {tmp_path}/met"
    done = run.batch(run.site(judge={"partition": "gpu", "setup": [lower, note]}))
    assert done.returncode == 0, done.stderr
    log = run.scored()
    assert run.verdicts() == {"ada": ["accepted"] * 2, "hal": ["accepted"] * 2}, log_lines(log)
    met = [event for event in log if event["event"] == "memory_short"]
    assert met, log_lines(log)
    for event in met:
        assert event["submission"] == "hal" and event["case"] in CASES.split(",") and event["node"] == "n1", event
        assert re.fullmatch(r"\d+_\d+", event["job"]) and event["limit_mb"] == 900, event
        assert "which may have 900 MiB" in event["message"] and "2048 MiB of host memory" in event["message"], event
    plans = [json.loads((run.run / f"rounds/{n}/plan.json").read_text()) for n in (1, 2)]
    assert [plan["memory_times"] for plan in plans] == [1, 2]
    again = json.loads((run.run / "rounds/2/submitted.json").read_text())
    asked = limited.run("squeue", "-h", "--states=all", "-o", "%m", "-j", again["judge"][0]).split()
    assert asked[0] in {f"{2 * NEEDED_MB}M", "10G"}, asked


@needs_slurm
@needs_memory_groups
def test_device_memory_that_a_task_does_not_have_is_the_clusters_fault(tmp_path: Path, limited: Cluster) -> None:
    """A cudaMalloc of what the policy allows, on the emulator, whose device memory is the task's.

    As above the kernel (cgroup-v1/memory.rst) is what this is held against.
    """
    run = Run(tmp_path, limited, {"ada": NAIVE, "hal": HEAVY_ON_DEVICE})
    group = "/sys/fs/cgroup/memory$(grep :memory: /proc/self/cgroup | cut -d: -f3)"
    lower = f"test -e {tmp_path}/met || echo 600M > {group}/memory.limit_in_bytes"
    done = run.batch(run.site(judge={"partition": "gpu", "setup": [lower, f"touch {tmp_path}/met"]}))
    assert done.returncode == 0, done.stderr
    log = run.scored()
    assert run.verdicts() == {"ada": ["accepted"] * 2, "hal": ["accepted"] * 2}, log_lines(log)
    short = [event for event in log if event["event"] in {"memory_short", "out_of_memory"}]
    assert short and {event["submission"] for event in short} == {"hal"}, log_lines(log)
    plan = json.loads((run.run / "rounds/2/plan.json").read_text(encoding="utf-8"))
    assert plan["memory_times"] == 2, plan


@needs_slurm
@needs_memory_groups
def test_a_student_who_goes_beyond_the_policy_is_told_so_in_a_task_too(tmp_path: Path, limited: Cluster) -> None:
    """The own limit of a submission stays the submission's."""
    hog = HEAVY.replace("1200u", "2300u")
    run = Run(tmp_path, limited, {"ann": hog})
    assert run.batch(run.site()).returncode == 0
    log = run.scored()
    assert run.verdicts() == {"ann": ["memory_limit"] * 2}, log_lines(log)
    assert not [event for event in log if event["event"] == "memory_short"], log_lines(log)


@needs_slurm
def test_a_task_that_runs_out_of_time_costs_no_student_anything(tmp_path: Path, cluster: Cluster) -> None:
    """Slurm ends the task while a student's program runs: no verdict, and the next round judges the case.

    `time:` below what a case may take is refused, so the limit is lowered behind Slurm's back, as a cluster's staff
    may (scontrol(1), TimeLimit; its least is a minute, which is what this test takes). A line of `setup:` makes the
    program slow in the first round.
    """
    run = Run(tmp_path, cluster, {"ada": NAIVE, "hal": SLOW_ON_B200})
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("emulator: 20", "emulator: 600"), encoding="utf-8")
    slow = f"test -e {tmp_path}/slow || export WARPEMU_DEVICE=b200"
    begun = run.batch(run.site(judge={"partition": "gpu", "setup": [slow, f"touch {tmp_path}/slow"]}))
    assert begun.returncode == 0, begun.stderr
    jobs = json.loads((run.run / "rounds/1/submitted.json").read_text())
    cluster.run("scontrol", "update", f"JobId={jobs['judge'][0]}", "TimeLimit=1")
    log = run.scored()
    assert run.verdicts() == {"ada": ["accepted"] * 2, "hal": ["accepted"] * 2}, log_lines(log)
    ended = [event for event in log if event["event"] == "task_timeout"]
    assert ended and ended[0]["submission"] == "hal" and ended[0]["case"] in CASES.split(","), log_lines(log)
    assert ended[0]["task"] == "judge" and ended[0]["node"] in {"n1", "n2"}, ended
    assert not [event for event in log if event["kind"] == "staff"], log_lines(log)
    assert (run.run / "rounds/2/done.json").exists()


def documents(path: Path) -> list[str]:
    """The examples of a file of several."""
    return re.split(r"^---\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


@needs_slurm
def test_the_example_sites_are_read_and_become_sbatch_options(tmp_path: Path, cluster: Cluster) -> None:
    """Each of the three; this cluster has other partitions, so it refuses them by the keys' names (sbatch(1))."""
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    examples = documents(ROOT / "grader/course/batch/site.example.yaml")
    assert len(examples) == 3
    refusals = ("gres: gpu:a100:1", "compile: reservation: gpu_course_friday", "compile: partition: short")
    for text, refused in zip(examples, refusals, strict=True):
        site = tmp_path / "site.yaml"
        site.write_text(text, encoding="utf-8")
        done = run.batch(site, "--dry-run")
        assert done.returncode == 1 and f"{site}: " in done.stderr, done.stdout + done.stderr
        assert refused in done.stderr and "Slurm refuses it" in done.stderr, done.stderr
    assert not (run.run / "rounds").exists()


@needs_slurm
def test_a_dry_run_shows_what_would_be_submitted_and_submits_nothing(tmp_path: Path, cluster: Cluster) -> None:
    """Scripts, counts, memory, hours and Slurm's own word for the start (sbatch(1), --test-only)."""
    run = Run(tmp_path, cluster, dict.fromkeys(("ada", "bo", "cy"), NAIVE))
    site = run.site(
        name="gpu-course-",
        all={"comment": "week seven", "mail": "staff@example.edu", "setup": ["module load cuda || true"]},
        judge={"partition": "gpu", "time": "1:00:00", "options": ["--nice=5", "-p", "gpu"]},
        task_minutes=1, submission_minutes=1,
    )  # fmt: skip
    before = cluster.run("squeue", "-h", "--states=all", "-o", "%A")
    done = run.batch(site, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert cluster.run("squeue", "-h", "--states=all", "-o", "%A") == before
    assert not (run.run / "rounds").exists()
    for words in (
        "judge: 3 tasks in 1 array", f"memory {NEEDED_MB}M", "3.0 hours", "#!/bin/bash -l", "module load cuda",
        "--job-name=gpu-course-week7-vector_add-1-judge-0-", "'--comment=week seven'", "--mail-user=staff@example.edu",
        "--mail-type=END,FAIL", "--nice=5 -p gpu", "Slurm takes it, and the first task could start at 2",
        "longest wait", "partition gpu: 2 nodes: ",
    ):  # fmt: skip
        assert words in done.stdout, done.stdout
    begun = run.batch(site)
    assert begun.returncode == 0, begun.stderr
    names = cluster.run("squeue", "-h", "--states=all", "-o", "%j").split()
    assert any(name.startswith("gpu-course-week7-vector_add-1-judge-0-") for name in names), names
    run.scored()
    assert set(run.verdicts()) == {"ada", "bo", "cy"}


def are_gone(cluster: Cluster, jobs: list[str]) -> bool:
    """Whether none of them waits or runs."""
    return cluster.run("squeue", "-h", "-o", "%A", "-j", ",".join(jobs)) == ""


@needs_slurm
def test_a_refused_round_leaves_nothing_behind_and_names_the_key(tmp_path: Path, cluster: Cluster) -> None:
    """The compile array is taken, the judges' is refused; the corrected file goes on with the same run."""
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    for settings, words in (
        ({"gres": "gpu:a100:1"}, "judge: gres: gpu:a100:1: Slurm refuses it"),
        ({"constraint": "infiniband"}, "judge: constraint: infiniband: Slurm refuses it: Invalid feature"),
        ({"reservation": "friday"}, "judge: reservation: friday: Slurm refuses it: Requested reservation is invalid"),
        ({"nodelist": "gpu99"}, "judge: nodelist: gpu99: Slurm refuses it: Invalid node name"),
        ({"partition": "gpus"}, "judge: partition: gpus: Slurm refuses it"),
    ):
        done = run.batch(run.site(judge={"partition": "gpu", **settings}))
        # What of the same words can be a memory or a GPU that no node has is told with both keys.
        told = done.stderr.replace("memory: 5120M, ", "")
        assert done.returncode == 1 and words.split(": Slurm")[0].split(": ", 1)[1] in told, (settings, done.stderr)
        assert "Slurm refuses it" in told and "submitted before" in told and "cancelled" in told, done.stderr
        jobs = re.findall(r"\d+", done.stderr.split("submitted before (")[1].split(")")[0])
        wait_until("the end of what was cancelled", partial(are_gone, cluster, jobs), 60)
    done = run.call("resume", run.run, "--site", run.site())
    assert done.returncode == 0, done.stderr
    run.scored()
    assert run.verdicts() == {"ada": ["accepted", "accepted"]}


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("--job-name=mine", "name:"), ("-Jmine", "name:"), ("--job=mine", "name:"), ("-HJ", "name:"),
        ("--array=0-3", "at_once:"),
        ("--dependency=afterok:1", "--dependency"), ("-o", "logs"), ("--mem=1G", "memory:"),
        ("--mem-per-cpu=1G", "memory:"),
        ("-t5", "time:"), ("--wrap=true", "setup:"), ("--export=NONE", "environment:"), ("-x", "exclude:"),
    ],
)  # fmt: skip
def test_an_option_that_is_ours_is_refused_by_its_name(tmp_path: Path, option: str, word: str) -> None:
    """However sbatch(1) lets it be written: long, short, abbreviated, behind another letter."""
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps({"judge": {"options": [option]}}), encoding="utf-8")
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/vector_add.cu").write_text(NAIVE, encoding="utf-8")
    command = ("batch", tmp_path / "run", "--lab", "vector_add", "--submissions", tmp_path / "class")
    done = warpgrade(*command, "--executor", "slurm", "--site", site)
    assert done.returncode == 1 and f"judge: options: {option} cannot stand here" in done.stderr, done.stderr
    assert word in done.stderr and not (tmp_path / "run").exists(), done.stderr


def test_a_machine_without_slurm_is_told_what_is_missing(tmp_path: Path) -> None:
    """The class is taken in, nothing is submitted, and nothing is the judge's fault."""
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/vector_add.cu").write_text(NAIVE, encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("env", "sh", "bash", "bwrap", "nvcc"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    command = ("batch", tmp_path / "run", "--lab", "vector_add", "--submissions", tmp_path / "class")
    environment = {**os.environ, "PATH": str(programs)}
    done = warpgrade(*command, "--backend", "emulator", "--executor", "slurm", env=environment)
    assert done.returncode == 1 and "needs Slurm's commands in PATH" in done.stderr, done.stderr
    assert "scontrol" in done.stderr and "the judge" not in done.stderr, done.stderr


@needs_slurm
def test_status_says_where_tasks_are_and_why_they_wait(tmp_path: Path, cluster: Cluster) -> None:
    """Each task by itself, with squeue(1)'s reason and a cure; held, a partition that is down, a lost aggregator."""
    run = Run(tmp_path, cluster, dict.fromkeys(("ada", "bo", "cy"), NAIVE))
    cluster.run("scontrol", "update", "PartitionName=gpu", "State=DOWN")
    try:
        site = run.site(task_minutes=1, submission_minutes=1)
        assert run.batch(site).returncode == 0
        # Slurm says so at times while the tasks wait for the compilers, and always behind these.
        cure = "3 wait: PartitionDown -> the partition is down: ask the cluster's staff"
        wait_until("a reason and its cure", lambda: cure in run.call("status", run.run).stdout, 120)
        text = run.call("status", run.run).stdout
        assert re.search(r"judge PENDING +3\n", text), text
        assert "; for ada, bo, cy\n" in text, text
        assert "about 3 minutes of judging are left for one task at a time; none runs now" in text, text
        assert f"logs of the tasks: {run.run}/rounds/1/log" in text, text
        told = json.loads(run.call("status", run.run, "--json").stdout)
        assert told["round"]["remaining"] == {"seconds": 180.0, "at_once": 0}
        judges = [task for task in told["round"]["tasks"] if task["kind"] == "judge"]
        assert sorted(name for task in judges for name in task["submissions"]) == ["ada", "bo", "cy"]
        assert {task["state"] for task in judges} == {"PENDING"} and all(task["log"] for task in judges)
        jobs = json.loads((run.run / "rounds/1/submitted.json").read_text())
        cluster.run("scancel", jobs["guard"], jobs["aggregate"])
        text = run.call("status", run.run).stdout
        assert "aggregator and the guard are gone" in text and f"warpgrade resume {run.run}" in text, text
        cluster.run("scontrol", "hold", jobs["judge"][0])
    finally:
        cluster.run("scontrol", "update", "PartitionName=gpu", "State=UP")
    wait_until("held", lambda: "JobHeld" in run.call("status", run.run).stdout, 60)
    text = run.call("status", run.run).stdout
    assert "scontrol release JOB" in text or "the cluster's staff held it" in text, text
    cluster.run("scontrol", "release", jobs["judge"][0])
    watched = run.call("status", run.run, "--watch", "0.5")  # until all is judged
    assert watched.returncode == 0 and watched.stdout.count("3/3") >= 1, watched.stdout
    assert json.loads(run.call("status", run.run, "--json").stdout)["cases"]["recorded"] == 6
    done = run.call("resume", run.run)
    assert done.returncode == 0, done.stderr
    text = run.call("status", run.run).stdout
    assert "earlier trouble that is over: " in text and "aggregator_lost" in text.split("earlier trouble")[1], text


@needs_slurm
def test_status_folds_what_was_given_up_and_judged_later(tmp_path: Path, cluster: Cluster) -> None:
    """Who goes into a next round is named; what rounds left stays listed until it is judged, and is one line then."""
    run = Run(tmp_path, cluster, {"ada": NAIVE, "bo": NAIVE})
    opened = tmp_path / "open"
    site = run.site(judge={"partition": "gpu", "setup": [f"test -e {opened}"]}, rounds=2)
    assert run.batch(site).returncode == 0
    wait_until("two rounds without a verdict", (run.run / "rounds/2/done.json").exists, 240)
    log = run.scored()
    for event, last in (("requeued", 1), ("gave_up", 2)):
        told = [(e["submission"], e["round"]) for e in log if e["event"] == event]
        assert sorted(told) == [("ada", last), ("bo", last)], log_lines(log)
    text = run.call("status", run.run).stdout
    assert "cases        [" in text and "0/4" in text, text
    assert re.search(r"gave_up +2\n", text) and " gave_up ada: 2 rounds left cases without a verdict" in text, text
    lost = [event for event in json.loads(run.call("status", run.run, "--json").stdout)["trouble"] if "log" in event]
    assert lost and all(Path(event["log"]).exists() for event in lost), lost
    opened.touch()
    assert run.batch(site).returncode == 0
    wait_until("the third round", (run.run / "rounds/3/done.json").exists, 240)
    assert run.verdicts() == {"ada": ["accepted"] * 2, "bo": ["accepted"] * 2}
    text = run.call("status", run.run).stdout
    assert "4/4" in text and "gave_up" not in text.split("earlier trouble that is over: ")[0], text
    assert "2 gave_up" in text.split("earlier trouble that is over: ")[1], text
    told = json.loads(run.call("status", run.run, "--json").stdout)
    assert told["trouble"] == [] and told["events"]["gave_up"] == 2 and told["events"]["requeued"] == 2, told


@needs_slurm
def test_rounds_go_on_when_a_full_disk_has_room_again(tmp_path: Path, cluster: Cluster) -> None:
    """The run's disk is full for longer than a task waits: no task aborts, and the next round comes by itself."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    try:
        run = Run(tmp_path, cluster, {"ada": NAIVE, "bo": NAIVE})
        run.run = disk / "week7"
        hold = tmp_path / "hold"
        hold.touch()
        run.cluster.environment["WARPGRADE_INJECT"] = f"stage:start,kind:wait,while:{hold}"
        run.cluster.environment["WARPGRADE_DISK_WAIT_S"] = "1"
        try:
            begun = run.batch(run.site(task_minutes=1, submission_minutes=1))
        finally:
            for name in ("WARPGRADE_INJECT", "WARPGRADE_DISK_WAIT_S"):
                del run.cluster.environment[name]
        assert begun.returncode == 0, begun.stderr
        wait_until("a judge at work", lambda: "judge" in started(run), 240)
        filler = fill(disk)
        hold.unlink()
        states = ("squeue", "-h", "--states=all", "-o", "%j|%T|%r")
        jobs = json.loads((run.run / "rounds/1/submitted.json").read_text())
        wait_until(
            "an aggregator that was started again",
            lambda: "Restarts=0" not in cluster.run("scontrol", "-o", "show", "job", jobs["aggregate"]), 240,
        )  # fmt: skip
        # 134 is abort(3): scontrol(1) writes ExitCode=code:signal.
        told = cluster.run("scontrol", "-o", "show", "job")
        assert "ExitCode=134" not in told and "ExitCode=0:6" not in told, told
        filler.unlink()
        run.scored()
        assert run.verdicts() == {"ada": ["accepted"] * 2, "bo": ["accepted"] * 2}, cluster.run(*states)
        seen = {event["event"] for event in run.events()}
        assert "waits_for_room" in seen, seen
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def started(run: Run) -> set[str]:
    """Kinds of tasks that have begun."""
    return {event["message"] for event in run.events() if event["event"] == "task_started"}


def fill(folder: Path) -> Path:
    """Takes all the room that is left."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return path


@needs_slurm
def test_regrade_takes_another_site(tmp_path: Path, cluster: Cluster) -> None:
    """The cluster's settings may change between the class's judging and an appeal."""
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    assert run.batch(run.site()).returncode == 0
    run.scored()
    done = run.call(
        "regrade", run.run, "--only", "ada", "--site", run.site(judge={"partition": "gpu", "comment": "an appeal"})
    )
    assert done.returncode == 0, done.stderr
    wait_until("a second round", lambda: (run.run / "rounds/2/done.json").exists(), 240)
    # %k: the comment (squeue(1))
    again = json.loads((run.run / "rounds/2/submitted.json").read_text())
    comments = cluster.run("squeue", "-h", "--states=all", "-o", "%k", "-j", again["judge"][0]).splitlines()
    assert comments[0] == "an appeal", comments


@needs_slurm
def test_a_student_is_judged_again_on_the_node_that_judged_them(tmp_path: Path, cluster: Cluster) -> None:
    """Whichever node it was; both are idle."""
    for node in ("n2", "n1"):
        run = Run(tmp_path / node, cluster, {"ada": NAIVE})
        assert run.batch(run.site(judge={"partition": "gpu", "nodelist": node})).returncode == 0
        run.scored()
        assert f"judged on one node of the cluster: {node} (" in run.call("score", run.run).stdout
        again = run.call("regrade", run.run, "--same-node", "ada", "--site", run.site(), "--quiet")
        assert again.returncode == 0, again.stderr
        wait_until("a second round", (run.run / "rounds/2/done.json").exists, 240)
        sessions = json.loads((run.run / "submissions/ada/judging.json").read_text())["sessions"]
        assert [session["node"] for session in sessions] == [node, node], sessions
        # The site's settings, which hold for whatever comes later, name no node.
        assert "nodelist" not in json.loads((run.run / "batch.json").read_text())["site"]["judge"]


@needs_slurm
def test_a_site_that_changes_while_rounds_are_pinned_to_a_node(tmp_path: Path, cluster: Cluster) -> None:
    """`nodelist` is for what may be judged anywhere; a node that `exclude` names is judged on by nobody.

    The same command that names both is refused, before it moves a record; a later round goes to the other nodes.
    """
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    assert run.batch(run.site(judge={"partition": "gpu", "nodelist": "n1"})).returncode == 0
    run.scored()
    same = ("regrade", run.run, "--same-node", "ada", "--quiet", "--site")
    refused = run.call(*same, run.site(judge={"partition": "gpu", "exclude": "n[1-2]"}))
    assert refused.returncode == 1 and "exclude: n[1-2]" in refused.stderr and "n1 judged" in refused.stderr
    assert not (run.run / "superseded").exists()
    # The pinned round's GPU fails, by the site's probe, while the site gets another `nodelist`.
    broken = tmp_path / "broken"
    broken.touch()
    fails = {"probe": ["sh", "-c", f"while test -e {broken}; do sleep 0.1; done; exit 1"]}
    again = run.call(*same, run.site(judge={"partition": "gpu", "nodelist": "n2"}, rounds=3, **fails))
    assert again.returncode == 0, again.stderr
    plan = json.loads((run.run / "rounds/2/plan.json").read_text(encoding="utf-8"))
    assert plan["same_node"] == "n1"
    wait_until("n1's records", lambda: len([*run.run.glob("cases/ada/*.json")]) == len(CASES.split(",")), 240)
    batch = json.loads((run.run / "batch.json").read_text(encoding="utf-8"))
    batch["site"]["judge"] = {**batch["site"]["judge"], "nodelist": "", "exclude": "n[1]"}
    batch["site"]["probe"] = []
    (run.run / "batch.json").write_text(json.dumps(batch), encoding="utf-8")
    for record in (run.run / "cases/ada").glob("*.json"):
        record.unlink()  # what the pinned round judged, so that another one follows
    broken.unlink()
    wait_until("a third round", (run.run / "rounds/3/done.json").exists, 240)
    plan = json.loads((run.run / "rounds/3/plan.json").read_text(encoding="utf-8"))
    assert "same_node" not in plan, plan
    dropped = [event for event in run.events() if event["event"] == "pin_dropped"]
    assert [event["node"] for event in dropped] == ["n1"] and "n[1]" in dropped[0]["message"], dropped
    sessions = json.loads((run.run / "submissions/ada/judging.json").read_text())["sessions"]
    assert sessions[-1]["node"] != "n1", sessions


# A stand-in for Apptainer, which is no package of Debian 12: it reads its words as apptainer_exec(1) of version 1.4
# says, `apptainer exec [exec options...] <container> <command>`, notes them and runs the command on the node itself. As
# in Apptainer's containers no control groups are mounted unless they are bound, and the environment is the caller's.
APPTAINER_STAND_IN = """#!/usr/bin/env python3
import argparse, json, os, pathlib, sys
usage = argparse.ArgumentParser(prog="apptainer", allow_abbrev=False)
action = usage.add_subparsers(required=True).add_parser("exec", allow_abbrev=False)
action.add_argument("--nv", action="store_true")
action.add_argument("-B", "--bind", action="append", default=[])
action.add_argument("container")
action.add_argument("command", nargs=argparse.REMAINDER)
said = usage.parse_args()
binds = [one.split(":") for given in said.bind for one in given.split(",")]
if any(len(one) > 3 or not pathlib.Path(one[0]).exists() for one in binds):
    sys.exit("FATAL: container creation failed: mount hook function failure")
with open(os.environ["STAND_IN_NOTES"], "a") as notes:
    notes.write(json.dumps({**vars(said), "bind": binds}) + "\\n")
hide = "awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts | sort -r | xargs -r umount -l"
if ["/sys/fs/cgroup"] in binds and not os.environ.get("STAND_IN_HIDES_GROUPS"):
    hide = ":"
os.execvp("unshare", ["unshare", "-m", "sh", "-c", hide + '; exec "$@"', "sh", *said.command])
"""


@needs_slurm
@pytest.mark.parametrize("hidden", [False, True], ids=["with its control groups", "without any"])
def test_compilers_and_judges_run_in_the_container_that_the_site_names(
    tmp_path: Path, cluster: Cluster, hidden: bool
) -> None:
    """By the words of apptainer_exec(1), which a stand-in reads; the aggregator, which asks Slurm, stays outside."""
    run = Run(tmp_path, cluster, {"ada": NAIVE})
    stand_in, notes = tmp_path / "apptainer stand-in", tmp_path / "notes.jsonl"
    stand_in.write_text(APPTAINER_STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    container = {"image": "/shared/course image.sif", "bind": [f"{tmp_path}:/mnt/place:ro"], "command": str(stand_in)}
    exports = [f"export STAND_IN_NOTES={notes}", *(["export STAND_IN_HIDES_GROUPS=yes"] if hidden else [])]
    site = run.site(all={"container": container, "setup": exports})
    shown = run.batch(site, "--dry-run")
    assert shown.stdout.count("'exec' '--nv' '--bind' ") == 2, shown.stdout + shown.stderr
    begun = run.batch(site)
    assert begun.returncode == 0, begun.stderr
    run.scored()
    assert run.verdicts() == {"ada": ["accepted", "accepted"]}
    told = [json.loads(line) for line in notes.read_text(encoding="utf-8").split("\n") if line]
    assert [note["command"][1:3] for note in told] == [["batch-task", "compile"], ["batch-task", "judge"]], told
    for note in told:
        assert note["container"] == "/shared/course image.sif" and note["nv"] is True
        assert [str(tmp_path), "/mnt/place", "ro"] in note["bind"]
        assert {str(run.run), str(ROOT), str(WARPGRADE.parent)} <= {one[0].rstrip("/") for one in note["bind"]}, note
        assert note["command"][0] == str(WARPGRADE) and note["command"][3] == str(run.run)


APPTAINER = os.environ.get("WARPGRADE_APPTAINER") or shutil.which("apptainer")


@needs_slurm
@pytest.mark.skipif(APPTAINER is None, reason="no Apptainer: name the program in WARPGRADE_APPTAINER")
def test_a_class_is_judged_inside_apptainer_itself(tmp_path: Path, cluster: Cluster) -> None:
    """A sandbox of empty folders, with this machine's programs bound into it; the site's probe tells where it ran."""
    run = Run(tmp_path, cluster, {"ada": NAIVE, "bo": NAIVE.replace("a[i] + b[i]", "a[i] - b[i]")})
    image, seen = tmp_path / "image", tmp_path / "seen"
    for name in ("dev", "etc", "home", "opt", "proc", "root", "run", "sys", "tmp", "usr", "var/tmp"):
        (image / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (image / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "hosts", "resolv.conf", "localtime"):
        (image / "etc" / name).touch()
    binds = ["/usr", "/etc/alternatives", "/etc/ld.so.cache", str((ROOT / ".venv").resolve()), sys.base_prefix]
    container = {"image": str(image), "bind": binds, "command": APPTAINER}
    probe = ["sh", "-c", f'echo "$APPTAINER_CONTAINER" >> {seen}; test -n "$APPTAINER_CONTAINER"']
    begun = run.batch(run.site(all={"container": container}, probe=probe))
    assert begun.returncode == 0, begun.stderr
    log = run.scored()
    assert run.verdicts() == {"ada": ["accepted"] * 2, "bo": ["wrong_answer"] * 2}, log_lines(log)
    assert set(seen.read_text(encoding="utf-8").split()) == {str(image)}
    record = json.loads((run.run / "cases/ada/one.json").read_text(encoding="utf-8"))
    assert record["isolation"]["cgroup"]["version"] != "none", record["isolation"]
    assert not [event for event in log if event["kind"] == "staff"], log_lines(log)


@needs_slurm
def test_doctor_tells_a_missing_configuration_from_a_missing_slurm(tmp_path: Path, cluster: Cluster) -> None:
    """Slurm's programs do not even say their version without a configuration."""
    without = {name: value for name, value in cluster.environment.items() if name != "SLURM_CONF"}
    for environment, words in (
        (without, "finds no configuration"),
        ({**without, "SLURM_CONF": str(tmp_path / "none.conf")}, f"SLURM_CONF names {tmp_path}/none.conf"),
        (cluster.environment, "2 nodes"),
    ):
        told = json.loads(warpgrade("doctor", "--json", env=environment).stdout)
        slurm = next(finding for finding in told["findings"] if finding["topic"] == "Slurm")
        assert words in slurm["found"], slurm
        assert "does not work" not in slurm["found"], slurm


def test_every_program_lives_on_when_its_words_cannot_be_written(tmp_path: Path) -> None:
    """/dev/full refuses every byte (full(4)), a pipe without a reader too; no program ends by a signal."""
    class_of_one = tmp_path / "class/ada"
    class_of_one.mkdir(parents=True)
    (class_of_one / "vector_add.cu").write_text(NAIVE, encoding="utf-8")
    run = tmp_path / "run"
    judging = ("--lab", "vector_add", "--submissions", tmp_path / "class", "--cases", "one", "--backend", "emulator")
    commands: list[tuple[int, tuple[str | Path, ...]]] = [
        (1, ("batch", run, *judging)),  # its output is lost, and its records are there
        (1, ("status", run)), (1, ("doctor",)), (1, ("labs",)), (1, ("data", "list")), (1, ("--help",)),
        (1, ("nonsense",)),
        (75, ("batch-task", "judge", run, "9", "0")), (75, ("batch-task", "aggregate", tmp_path / "none", "1", "0")),
    ]  # fmt: skip
    for code, command in commands:
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = subprocess.run([WARPGRADE, *command], stdout=full, stderr=full, timeout=300, check=False)
        assert done.returncode == code, (command, done.returncode)
    assert len(list(run.glob("cases/ada/*.json"))) == 1
    with Path("/dev/full").open("wb") as full:
        program = WARPGRADE.parent / "warpgrade-judge"
        hello = b'{"hello": true}\n'
        judge = subprocess.run([program], input=hello, stdout=full, stderr=full, timeout=60, check=False)
    assert judge.returncode >= 0
    others = [WARPGRADE.parent / name for name in ("warpgrade-judging", "warpgrade-synth")]
    others.append(WARPGRADE.parents[1] / "executor/warpgrade-executor")
    spec = ROOT / "datasets/fits/cora.json"
    for program in filter(Path.exists, others):  # what a build for use leaves out is not there
        for words in ([], ["--nonsense"], [spec, tmp_path / "cora.npz", "--cpu"], [tmp_path / "none", "x"]):
            with Path("/dev/full").open("wb") as full:
                done = subprocess.run([program, *words], stdout=full, stderr=full, input=b"", timeout=60, check=False)
            assert done.returncode >= 0, (program, words)
    reader, writer = os.pipe()
    os.close(reader)
    unread = subprocess.run([WARPGRADE, "labs"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (unread.returncode, unread.stderr) == (1, b"")
