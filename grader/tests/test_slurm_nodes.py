"""A cluster's nodes are tested before they judge, and one that differs from the others judges nothing.

On a real Slurm of three nodes; slurm_cluster.py says what that needs. All nodes are this machine, so what some of them
measured is written before the batch, and one measures itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slurm_class import CASES, NAIVE, Run, log_lines, wait_until
from slurm_cluster import Cluster, needs_slurm

pytestmark = pytest.mark.waits

STUDENTS = dict.fromkeys(("ada", "bo", "cy"), NAIVE)
SEPARATE = {"task_minutes": 1, "submission_minutes": 1, "node_test": "always"}  # a task for each student


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes."""
    made = Cluster(tmp_path_factory.mktemp("nodes") / "slurm", 3)
    yield made
    made.stop()


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
    assert run.verdicts() == {name: ["accepted"] * len(CASES.split(",")) for name in STUDENTS}, log_lines(log)
    recorded = [(e["submission"], e["case"]) for e in log if e["event"] == "case_recorded"]
    assert len(recorded) == len(set(recorded)) == len(STUDENTS) * len(CASES.split(",")), log_lines(log)


def begin_on_each_node(
    run: Run, cluster: Cluster, rounds: int, measures: str = "", **records: dict[str, float]
) -> None:
    """A round of a task for each student, one on each node; they wait until the nodes' records are there.

    The node `measures` tests itself before the others go on: they hold their nodes, so Slurm has no other for its task.
    The tasks that compile have a partition of their own on the same nodes: they are not what is waited for.
    """
    hold, hold_others = run.folder / "hold", run.folder / "hold_others"
    hold.touch()
    setup = [f"while test -e {hold}; do sleep 0.1; done"]
    if measures:
        hold_others.touch()
        setup.append(f'while test "$SLURMD_NODENAME" != {measures} -a -e {hold_others}; do sleep 0.1; done')
    judge = {"partition": "gpu", "options": ["--exclusive"], "setup": setup}
    begun = run.batch(run.site(judge=judge, **SEPARATE, rounds=rounds))
    assert begun.returncode == 0, begun.stderr
    for node, figures in records.items():
        node_record(run, node, **figures)
    running = ("squeue", "-h", "-p", "gpu", "-t", "RUNNING", "-o", "%N")
    wait_until("a task on each node", lambda: set(cluster.run(*running).split()) == {"n1", "n2", "n3"}, 240)
    hold.unlink()
    if measures:
        wait_until(f"what {measures} measured", (run.run / f"nodes/{measures}.json").exists, 240)
        hold_others.unlink()


def stamps(run: Run) -> dict[str, int]:
    """When each node's record was written."""
    return {path.name: path.stat().st_mtime_ns for path in (run.run / "nodes").iterdir()}


@needs_slurm
def test_a_node_slower_than_the_others_is_left_out_and_named(tmp_path: Path, cluster: Cluster) -> None:
    """n2 measures itself beside figures that no emulator reaches, and hands its work back; an appeal avoids it too."""
    run = Run(tmp_path, cluster, STUDENTS)
    begin_on_each_node(run, cluster, 4, "n2", n1={"gigabytes": 1000}, n3={"gigabytes": 1001})
    log = run.scored()
    all_are_judged(run, log)
    left = [event for event in log if event["event"] == "node_left_out"]
    assert left and {event["node"] for event in left} == {"n2"} and "GB/s here" in left[0]["message"], log_lines(log)
    assert all("n2" not in nodes for nodes in judged_on(run).values()), judged_on(run)
    last = max((run.run / "rounds").iterdir(), key=lambda folder: int(folder.name))
    plan = json.loads((last / "plan.json").read_text(encoding="utf-8"))
    assert plan["exclude"] == ["n2"] and plan["admit"] == [], plan
    told = run.call("status", run.run).stdout
    assert "3 nodes were tested, 1 left out" in told and "left out: n2: " in told, told
    nodes = {node["node"]: node for node in json.loads(run.call("status", run.run, "--json").stdout)["nodes"]}
    assert set(nodes) == {"n1", "n2", "n3"} and "left_out" in nodes["n2"], nodes
    measured = nodes["n2"]["bytes_per_s"]
    assert 0 < measured["low"] <= measured["middle"] <= measured["high"], measured
    assert "left out: n2: " in run.call("score", run.run).stdout
    before = stamps(run)
    again = run.call("regrade", run.run, "--only", "ada", "--quiet")
    assert again.returncode == 0, again.stderr
    appeal = run.run / f"rounds/{int(last.name) + 1}/done.json"
    wait_until("the round of the appeal", appeal.exists, 240)
    assert "n2" not in judged_on(run)["ada"]
    assert stamps(run) == before


@needs_slurm
def test_a_node_that_differs_from_itself_is_left_out(tmp_path: Path, cluster: Cluster) -> None:
    """What was measured before is not measured again; a round that found a bad node does not count as one of few."""
    run = Run(tmp_path, cluster, STUDENTS)
    begin_on_each_node(run, cluster, 1, n1={}, n2={"low": 1.02, "high": 1.08}, n3={})
    before = stamps(run)
    log = run.scored()
    all_are_judged(run, log)
    left = [event for event in log if event["event"] == "node_left_out"]
    assert left and {event["node"] for event in left} == {"n2"}, log_lines(log)
    assert "1.050 (1.020 to 1.080) times as fast as itself" in left[0]["message"]
    assert all("n2" not in nodes for nodes in judged_on(run).values()), judged_on(run)
    assert stamps(run) == before


@needs_slurm
def test_what_a_node_judged_before_it_was_known_to_be_bad_is_judged_again(tmp_path: Path, cluster: Cluster) -> None:
    """n2 is alone with its figure while it judges; then the others' come. Its records are kept beside, and named."""
    run = Run(tmp_path, cluster, STUDENTS)
    hold = tmp_path / "hold"
    hold.touch()
    setup = [f'while test "$SLURMD_NODENAME" != n2 -a -e {hold}; do sleep 0.1; done']
    judge = {"partition": "gpu", "options": ["--exclusive"], "setup": setup}
    begun = run.batch(run.site(judge=judge, **SEPARATE, rounds=1))
    assert begun.returncode == 0, begun.stderr
    node_record(run, "n2", gigabytes=0.1)
    records = len(CASES.split(","))
    wait_until("n2's records", lambda: len([*run.run.glob("cases/*/*.json")]) >= records, 240)
    node_record(run, "n1")
    node_record(run, "n3")
    hold.unlink()
    log = run.scored()
    assert run.verdicts() == {name: ["accepted"] * records for name in STUDENTS}, log_lines(log)
    assert all("n2" not in nodes for nodes in judged_on(run).values()), log_lines(log)
    old = [json.loads(path.read_text(encoding="utf-8")) for path in run.run.glob("superseded/*/*/*.json")]
    assert len(old) >= records and {record["node"] for record in old} == {"n2"}, log_lines(log)
    again = {record["submission"]["id"] for record in old}
    told = [event for event in log if event["event"] == "judged_again"]
    assert {event["submission"] for event in told} == again and {event["node"] for event in told} == {"n2"}
    said = run.call("score", run.run).stdout
    assert f"what it had judged was judged again elsewhere: {', '.join(sorted(again))}" in said, said
    assert "judges them elsewhere" not in said, said


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
    assert admitted and "Slurm has no other node" in admitted[0]["message"], log_lines(log)
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
    assert [event["node"] for event in log if event["event"] == "gpu_wedged"] == ["n1"], log_lines(log)
    assert [event for event in log if event["event"] == "node_admitted"], log_lines(log)
