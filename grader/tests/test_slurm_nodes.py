"""A cluster's nodes are tested before they judge, and one that differs from the others judges nothing.

On a real Slurm of three nodes; slurm_cluster.py says what that needs. The node that differs does so by the kernel: its
tasks have a small part of a core (cgroup-v1, Documentation/scheduler/sched-bwc.rst, cpu.cfs_quota_us).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slurm_class import CASES, NAIVE, Run, wait_until
from slurm_cluster import Cluster, needs_slurm

pytestmark = pytest.mark.waits

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
needs_cpu_groups = pytest.mark.skipif(
    not (CPU_GROUPS / "cpu.cfs_quota_us").exists(),
    reason="needs control groups of version 1 with the controller cpu, to make a node slow",
)
STUDENTS = dict.fromkeys(("ada", "bo", "cy"), NAIVE)
SEPARATE = {"task_minutes": 1, "submission_minutes": 1, "node_test": "always"}  # a task for each student


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes."""
    made = Cluster(tmp_path_factory.mktemp("nodes") / "slurm", 3)
    yield made
    made.stop()


@pytest.fixture
def slow_group(tmp_path: Path) -> Iterator[Path]:
    """A control group of a tenth of a core."""
    group = CPU_GROUPS / f"warpgrade-slow-{tmp_path.name}"
    group.mkdir()
    (group / "cpu.cfs_quota_us").write_text("10000", encoding="utf-8")
    yield group
    wait_until("the end of what is in the slow group", lambda: not (group / "cgroup.procs").read_text(), 120)
    for below in sorted(group.glob("**/"), reverse=True):
        below.rmdir()


def node_record(run: Run, node: str, *, low: float = 0.99, high: float = 1.01, gigabytes: float = 1) -> None:
    """What the node measured, as a run of yesterday left it."""
    interval = {"confidence": 0.95}
    record = {
        "schema": "warpgrade.node.v1", "node": node, "backend": "emulator", "tries": 1,
        "self": {"middle": (low + high) / 2, "low": low, "high": high, **interval},
        "bytes_per_s": {"middle": 1e9 * gigabytes, "low": 1e9 * gigabytes, "high": 1e9 * gigabytes, **interval},
    }  # fmt: skip
    (run.run / "nodes").mkdir(exist_ok=True)
    (run.run / "nodes" / f"{node}.json").write_text(json.dumps(record), encoding="utf-8")


def judged_on(run: Run) -> dict[str, set[str]]:
    """The nodes of each student's records."""
    nodes: dict[str, set[str]] = {}
    for path in run.run.glob("cases/*/*.json"):
        if not path.name.endswith(".fault.json"):
            nodes.setdefault(path.parent.name, set()).add(json.loads(path.read_text(encoding="utf-8"))["node"])
    return nodes


def all_are_judged(run: Run, log: list[dict[str, Any]]) -> None:
    """Every student has all records, and none twice."""
    assert run.verdicts() == {name: ["accepted"] * len(CASES.split(",")) for name in STUDENTS}, log
    recorded = [(e["submission"], e["case"]) for e in log if e["event"] == "case_recorded"]
    assert len(recorded) == len(set(recorded)) == len(STUDENTS) * len(CASES.split(",")), log


@needs_slurm
@needs_cpu_groups
def test_a_node_slower_than_the_others_is_left_out_and_named(
    tmp_path: Path, cluster: Cluster, slow_group: Path
) -> None:
    """Its task hands its work back; the next round judges that elsewhere, and the tests are not repeated.

    n2 waits for the others' figures, so that it knows them however busy this machine is.
    """
    run = Run(tmp_path, cluster, STUDENTS)
    slow = f"test $SLURMD_NODENAME != n2 || echo $$ > {slow_group}/cgroup.procs"
    others = f"test -e {run.run}/nodes/n1.json -a -e {run.run}/nodes/n3.json"
    wait = f"test $SLURMD_NODENAME != n2 || until {others}; do sleep 0.2; done"
    judge = {"partition": "gpu", "options": ["--exclusive"], "setup": [wait, slow]}
    done = run.batch(run.site(judge=judge, **SEPARATE))
    assert done.returncode == 0, done.stderr
    log = run.scored()
    all_are_judged(run, log)
    left = {event["node"]: event for event in log if event["event"] == "node_left_out"}
    assert "n2" in left and "GB/s here" in left["n2"]["message"], log
    assert all("n2" not in nodes for nodes in judged_on(run).values()), judged_on(run)
    plan = json.loads((run.run / "rounds/2/plan.json").read_text(encoding="utf-8"))
    assert "n2" in plan["exclude"] and "n2" not in plan["admit"]
    told = run.call("status", run.run).stdout
    assert "3 nodes were tested" in told and "left out: n2: " in told, told
    nodes = {node["node"]: node for node in json.loads(run.call("status", run.run, "--json").stdout)["nodes"]}
    assert set(nodes) == {"n1", "n2", "n3"} and "left_out" in nodes["n2"], nodes
    assert nodes["n2"]["bytes_per_s"]["middle"] < nodes["n1"]["bytes_per_s"]["middle"] / 2, nodes
    assert "left out: n2: " in run.call("score", run.run).stdout
    stamps = {path: path.stat().st_mtime_ns for path in (run.run / "nodes").iterdir()}
    again = run.call("regrade", run.run, "--only", "ada", "--quiet")
    assert again.returncode == 0, again.stderr
    wait_until("the round of the appeal", (run.run / "rounds/3/done.json").exists, 240)
    assert "n2" not in judged_on(run)["ada"]
    assert {path: path.stat().st_mtime_ns for path in (run.run / "nodes").iterdir()} == stamps


@needs_slurm
def test_a_node_that_differs_from_itself_is_left_out(tmp_path: Path, cluster: Cluster) -> None:
    """What was measured before is not measured again; a round that found a bad node does not count as one of few.

    Each node has one of the tasks, which wait until n2's record is there: the round's plan knows nothing of it.
    """
    run = Run(tmp_path, cluster, STUDENTS)
    hold = tmp_path / "hold"
    hold.touch()
    setup = [f"while test -e {hold}; do sleep 0.1; done"]
    judge = {"partition": "gpu", "options": ["--exclusive"], "setup": setup}
    begun = run.batch(run.site(judge=judge, **SEPARATE, rounds=1))
    assert begun.returncode == 0, begun.stderr
    node_record(run, "n1")
    node_record(run, "n2", low=1.02, high=1.08)
    node_record(run, "n3")
    stamps = {path: path.stat().st_mtime_ns for path in (run.run / "nodes").iterdir()}
    running = ("squeue", "-h", "-t", "RUNNING", "-o", "%N")
    wait_until("a task on each node", lambda: set(cluster.run(*running).split()) == {"n1", "n2", "n3"}, 240)
    hold.unlink()
    log = run.scored()
    all_are_judged(run, log)
    left = [event for event in log if event["event"] == "node_left_out"]
    assert left and {event["node"] for event in left} == {"n2"}, log
    assert "1.050 (1.020 to 1.080) times as fast as itself" in left[0]["message"]
    assert all("n2" not in nodes for nodes in judged_on(run).values()), judged_on(run)
    assert {path: path.stat().st_mtime_ns for path in (run.run / "nodes").iterdir()} == stamps


@needs_slurm
def test_the_only_node_judges_whatever_its_tests_say(tmp_path: Path, cluster: Cluster) -> None:
    """Nothing may stay without a verdict; the staff is told, and no figure is compared with nobody's."""
    run = Run(tmp_path, cluster, STUDENTS)
    site = run.site(judge={"partition": "gpu", "nodelist": "n1"}, **SEPARATE)
    assert run.batch(site, "--dry-run").returncode == 0
    node_record(run, "n1", low=1.02, high=1.08)
    assert run.batch(site).returncode == 0
    log = run.scored()
    all_are_judged(run, log)
    admitted = [event for event in log if event["event"] == "node_admitted"]
    assert admitted and "Slurm has no other node" in admitted[0]["message"], log
    told = run.call("score", run.run).stdout
    assert "n1 alone was tested" in told and "left out: n1: a program is 1.050" in told, told


@needs_slurm
def test_the_only_node_is_tried_again_after_a_fault(tmp_path: Path, cluster: Cluster) -> None:
    """The site's probe fails once, as a GPU that somebody mends: its waiting tasks and the next round have no other."""
    run = Run(tmp_path, cluster, STUDENTS)
    failed = tmp_path / "failed"
    probe = ["sh", "-c", f"test -e {failed} || {{ touch {failed}; exit 1; }}"]
    judge = {"partition": "gpu", "nodelist": "n1", "options": ["--exclusive"]}
    site = run.site(judge=judge, probe=probe, task_minutes=2, submission_minutes=1)
    assert run.batch(site).returncode == 0
    log = run.scored()
    all_are_judged(run, log)
    assert [event["node"] for event in log if event["event"] == "gpu_wedged"] == ["n1"], log
    assert [event for event in log if event["event"] == "node_admitted"], log
