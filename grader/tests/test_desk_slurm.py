"""The desk's runs on a real Slurm: an array of tasks takes them, ends when idle, and may die.

slurm_cluster.py says what they need.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desk_place import NAIVE, Desk, ask_run, desk_at, packed
from slurm_cluster import Cluster, kill, needs_slurm

pytestmark = [needs_slurm, pytest.mark.waits]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes, without accounting."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), 2)
    yield cluster
    cluster.stop()


@pytest.fixture
def desk(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A desk that serves by way of the cluster."""
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    with desk_at(tmp_path, waiting=4) as desk:
        with (desk.folder / "desk.yaml").open("a", encoding="utf-8") as config:
            config.write("executor: slurm\ntasks: 2\nidle_s: 5\n")
        desk.serve()
        yield desk


def hand_in(desk: Desk, student: str, key: str) -> int:
    """Queues a run; its number. The connection ends then."""
    archive, talk = packed(f"{NAIVE}\n// {key}\n"), desk.knock(student)
    talk.send(ask_run(archive, key))
    talk.send(archive)
    for heard in iter(talk.hear, {}):
        if heard["tell"] == "accepted":
            talk.process.kill()
            talk.end()
            return int(heard["run"])
    raise AssertionError("the run was not accepted")


def end_of(desk: Desk, student: str, run: int) -> dict[str, Any]:
    """The run's last line, waited for."""
    talk = desk.knock(student)
    talk.send({"ask": "follow", "protocol": 1, "run": run, "after": 0})
    told = talk.rest()
    talk.end()
    return told[-1]


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Waits for it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def tasks(cluster: Cluster) -> int:
    """Jobs of desks that the controller knows as waiting or running."""
    return len(cluster.run("squeue", "--noheader", "--array", "--format=%i").split())


def test_tasks_come_while_there_are_runs_judge_them_and_end_when_idle(desk: Desk, cluster: Cluster) -> None:
    """Four runs of two students, at most two tasks."""
    runs = {hand_in(desk, student, f"{student} {n}"): student for n in range(2) for student in ("ada", "ben")}
    for run, student in runs.items():
        assert end_of(desk, student, run)["state"] == "judged"
    submitted = [entry for entry in desk.log() if entry["what"] == "submitted"]
    assert 1 <= len(submitted) <= 2
    assert all(1 <= entry["tasks"] <= 2 for entry in submitted)
    until(lambda: tasks(cluster) == 0, 40, "idle tasks stay")
    late = hand_in(desk, "ada", "after the tasks have ended")
    assert end_of(desk, "ada", late)["state"] == "judged"


def test_a_run_whose_task_is_killed_is_judged_by_another(desk: Desk, cluster: Cluster) -> None:
    """Everything of the job dies without a word."""
    run = hand_in(desk, "ada", "killed")
    until(lambda: desk.status()["counts"]["running"] == 1, 60, "the run did not begin")
    jobs = list(cluster.processes_with("SLURM_JOB_ID"))
    assert jobs
    for pid, _ in jobs:
        kill(pid)
    end = end_of(desk, "ada", run)
    assert end["state"] == "judged", end
    assert cluster.run("squeue", "--noheader") is not None


def test_stopping_the_desk_cancels_its_tasks_and_loses_nothing(desk: Desk, cluster: Cluster) -> None:
    """What it had goes back into the queue, and the next desk judges it."""
    runs = [hand_in(desk, f"s{n}", f"stopped {n}") for n in range(3)]
    until(lambda: desk.status()["counts"]["running"] >= 1, 60, "no run began")
    desk.daemons[-1].terminate()
    desk.daemons[-1].wait(timeout=30)
    until(lambda: tasks(cluster) == 0, 120, "tasks of a stopped desk stay")
    desk.serve()
    for n, run in enumerate(runs):
        assert end_of(desk, f"s{n}", run)["state"] == "judged"
