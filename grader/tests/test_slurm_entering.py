"""Whoever enters a class is stopped meanwhile, on a real Slurm: what is entered is known, nobody is graded twice.

The program has a terminal (pty(7)), whose Ctrl-C goes to all of its foreground process group (termios(3), ISIG, VINTR).
slurm_cluster.py says what the cluster needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import WARPGRADE
from slurm_class import NAIVE, Run, log_lines, wait_until
from slurm_cluster import Cluster, needs_slurm

pytestmark = pytest.mark.waits

STUDENTS = ("ada", "bo", "cy", "dan", "eli", "fay")
JOBS = 2 * len(STUDENTS) + 2  # a compile and a judge array each, aggregator and guard
CTRL_C = b"\x03"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes whose arrays have one task: many have to be entered."""
    made = Cluster(tmp_path_factory.mktemp("entering") / "slurm", 2, max_array_size=2)
    yield made
    made.stop()


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: tuple[str | Path, ...], environment: dict[str, str]) -> None:
        words = [str(word) for word in command]
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment)  # noqa: S606 - a list of words

    def type(self, keys: bytes) -> None:
        """As somebody who sits there; the program may have ended."""
        with contextlib.suppress(OSError):
            os.write(self._master, keys)

    def end(self) -> tuple[int, str]:
        """Its exit code, or less a signal's number, and all that it showed."""
        shown = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
            while more := os.read(self._master, 4096):
                shown += more
        _, status = os.waitpid(self.pid, 0)
        os.close(self._master)
        return os.waitstatus_to_exitcode(status), shown.decode(errors="replace")


def jobs_of(cluster: Cluster, run: Run) -> Counter[str]:
    """How often each job of the run was entered, by name, whatever became of it."""
    listed = cluster.run("squeue", "-h", "--states=all", "-o", "%F %j").splitlines()
    return Counter(line.split()[1] for line in set(listed) if f"-{run.run.name}-" in line)


@needs_slurm
@pytest.mark.parametrize("how", ["once", "twice", "killed"])
def test_who_is_stopped_while_jobs_are_entered_goes_on_with_them(tmp_path: Path, cluster: Cluster, how: str) -> None:
    """Ctrl-C, Ctrl-C twice, or a kill; squeue(1) knows what was entered, and the same command enters the rest."""
    run = Run(tmp_path, cluster, dict.fromkeys(STUDENTS, NAIVE))
    run.run = tmp_path / f"week_{how}"
    command = ("batch", run.run, *run.options, "--executor", "slurm", "--site")
    site = run.site(compile_per_task=1, task_minutes=1, submission_minutes=1)
    terminal = Terminal((WARPGRADE, *command, site), cluster.environment)
    wait_until("some jobs of the round", lambda: len(jobs_of(cluster, run)) >= 3, 60, 0.02)
    if how == "killed":
        os.kill(terminal.pid, signal.SIGKILL)
    else:
        terminal.type(CTRL_C)
    if how == "twice":
        time.sleep(0.002)  # two signals of one number that wait at once are one
        terminal.type(CTRL_C)
    code, shown = terminal.end()
    assert code == (-signal.SIGKILL if how == "killed" else 130), shown
    assert not (run.run / "rounds/1/submitted.json").exists()

    time.sleep(1)  # an sbatch on its way arrives, or does not
    entered = jobs_of(cluster, run)
    assert 3 <= len(entered) < JOBS, entered
    if how == "once":  # a second Ctrl-C and a kill leave no time for words
        told = re.search(rf"(\d+) of the {JOBS} jobs of round 1 are entered: [\d, ]+; ", shown)
        assert told and int(told[1]) in {len(entered), len(entered) - 1}, (shown, entered)
        assert f"warpgrade cancel {run.run}" in shown and "Run the same command again" in shown, shown
    status = run.call("status", run.run)
    assert f"{len(entered)} of the {JOBS} jobs of round 1 are entered: " in status.stdout, (status.stdout, entered)
    assert f"`warpgrade resume {run.run}` enters the others" in status.stdout, status.stdout

    again = run.call(*command, site)
    assert again.returncode == 0, again.stderr
    known = json.loads((run.run / "rounds/1/submitted.json").read_text(encoding="utf-8"))
    log = run.scored()
    assert jobs_of(cluster, run) == dict.fromkeys(jobs_of(cluster, run), 1), "entered twice"
    assert len(jobs_of(cluster, run)) == JOBS
    ids = {*known["compile"], *known["judge"], known["aggregate"], known["guard"]}
    queued = cluster.run("squeue", "-h", "--states=all", "-o", "%F %j").splitlines()
    assert {line.split()[0] for line in queued if f"-{run.run.name}-" in line} == ids, "an array that nobody knows"
    assert run.verdicts() == {name: ["accepted"] * 2 for name in STUDENTS}, log_lines(log)
    recorded = Counter((e["submission"], e["case"]) for e in log if e["event"] == "case_recorded")
    assert set(recorded.values()) == {1} and len(recorded) == 2 * len(STUDENTS), log_lines(log)


@needs_slurm
def test_what_was_entered_of_a_round_can_be_cancelled(tmp_path: Path, cluster: Cluster) -> None:
    """As the words say: nothing of it waits or runs then, and a new round judges everybody once."""
    run = Run(tmp_path, cluster, dict.fromkeys(STUDENTS[:3], NAIVE))
    run.run = tmp_path / "week_cancelled"
    cluster.run("scontrol", "update", "PartitionName=cpu", "State=DOWN")  # nothing begins meanwhile
    try:
        command = ("batch", run.run, *run.options, "--executor", "slurm", "--site")
        site = run.site(compile_per_task=1, task_minutes=1, submission_minutes=1)
        terminal = Terminal((WARPGRADE, *command, site), cluster.environment)
        wait_until("some jobs of the round", lambda: len(jobs_of(cluster, run)) >= 3, 60, 0.02)
        terminal.type(CTRL_C)
        assert terminal.end()[0] == 130
        time.sleep(1)
        done = run.call("cancel", run.run)
        assert done.returncode == 0 and "jobs cancelled" in done.stdout, done.stdout + done.stderr
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "State=UP")
    live = cluster.run("squeue", "-h", "-o", "%j").splitlines()
    assert not [name for name in live if f"-{run.run.name}-" in name], live
    again = run.call("resume", run.run)
    assert again.returncode == 0 and "round 2" in again.stdout, again.stdout + again.stderr
    log = run.scored()
    assert run.verdicts() == {name: ["accepted"] * 2 for name in STUDENTS[:3]}, log_lines(log)
    recorded = Counter((e["submission"], e["case"]) for e in log if e["event"] == "case_recorded")
    assert set(recorded.values()) == {1}, log_lines(log)
