"""A real Slurm on this machine, for tests, and the processes that it starts.

Needs root and Debian's slurm-wlm and munge; accounting also slurmdbd and mariadb-server. Where one is missing the tests
are skipped, but not where CI is set: there they fail. slurm/start.sh says how the cluster is made.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def missing(*programs: str) -> bool:
    """Whether one is not here, and nobody insists on the tests that need it."""
    return "CI" not in os.environ and any(shutil.which(name) is None for name in programs)


needs_slurm = pytest.mark.skipif(
    (os.geteuid() != 0 and "CI" not in os.environ) or missing("slurmctld", "slurmd", "munged", "sbatch"),
    reason="needs root and the packages slurm-wlm and munge",
)
HAS_MEMORY_GROUPS = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
needs_memory_groups = pytest.mark.skipif(
    not HAS_MEMORY_GROUPS,
    reason="needs control groups of version 1 with the controller memory, which Slurm's tasks are held by here",
)
needs_accounting = pytest.mark.skipif(
    missing("slurmdbd", "mariadbd", "mariadb-install-db"), reason="needs the packages slurmdbd and mariadb-server"
)


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on, below those that the kernel gives to clients."""
    for first in random.SystemRandom().sample(range(20000, 32000, 20), 100):
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("", port))
            return first
    pytest.fail(f"no {count} free ports in a row")


class Cluster:
    """A Slurm under a folder of its own."""

    def __init__(
        self,
        folder: Path,
        nodes: int,
        *,
        accounting: bool = False,
        max_array_size: int = 1001,
        constrain_memory: bool = False,
    ) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PORT": str(free_ports(10 + nodes)),
            "MAX_ARRAY_SIZE": str(max_array_size),
            "SLURM_CONF": str(folder / "etc/slurm.conf"),
            **({"CONSTRAIN_MEMORY": "1"} if constrain_memory else {}),
        }
        command: list[str | Path] = [
            HERE / "slurm/start.sh",
            folder,
            str(nodes),
            *(["accounting"] if accounting else []),
        ]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=400, check=False)
        if done.returncode != 0:
            logs = "\n".join(
                f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in (folder / "log").glob("*.log")
            )
            self.stop()
            pytest.fail(f"{done.stdout}\n{done.stderr}\n{logs}")

    def stop(self) -> None:
        """Ends every daemon."""
        subprocess.run([HERE / "slurm/stop.sh", self.folder], capture_output=True, timeout=60, check=False)

    def run(self, *command: str | Path) -> str:
        """A command's answer; it must succeed."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=120, check=True
        ).stdout

    def pid(self, daemon: str) -> int:
        """The daemon's process."""
        return int((self.folder / f"run/{daemon}.pid").read_text())

    def kill_node(self, node: str) -> None:
        """Everything of a node at once: its daemon, and the process of Slurm that holds each job."""
        os.kill(self.pid(f"slurmd-{node}"), signal.SIGKILL)
        for pid, name in self.processes_with("SLURMD_NODENAME"):
            if name == node and "batch-task" in command_of(pid):
                kill(parent_of(pid))

    def processes_with(self, variable: str) -> Iterator[tuple[int, str]]:
        """Processes of this cluster's jobs that have the variable in their environment, with its value.

        Other tests have clusters of their own beside, with nodes and jobs of the same names.
        """
        for pid in processes():
            environment = environment_of(pid)
            if environment.get("SLURM_CONF") == self.environment["SLURM_CONF"] and variable in environment:
                yield pid, environment[variable]

    def start_node(self, node: str) -> None:
        """Brings a node back."""
        self.run("slurmd", "-N", node)

    def restart_controller(self, meanwhile: Callable[[], Any]) -> None:
        """The controller dies, and comes back later."""
        os.kill(self.pid("slurmctld"), signal.SIGKILL)
        meanwhile()
        self.run("slurmctld")


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Sends the signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def command_of(pid: int) -> str:
    """The command line; empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """The parent's process id."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def processes() -> list[int]:
    """All process ids."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def environment_of(pid: int) -> dict[str, str]:
    """The environment that the process began with; empty when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)
