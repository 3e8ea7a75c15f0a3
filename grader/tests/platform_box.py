"""Models of the machines on which platforms run an autograder: folders, limits, user; nobody makes a namespace inside.

What a platform's container looks like is told by its own specification or source, which each test names.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, WARPGRADE

CPU_GROUPS = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")  # of version 1, of version 2
PERIOD_US = 100_000


def leave(group: Path) -> None:
    """Removes the group once the kernel has ended the container's last process."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    raise AssertionError(f"{group}: processes of a container are left: {(group / 'cgroup.procs').read_text()}")


@contextlib.contextmanager
def share_of_cpu(share: float) -> Iterator[list[Path]]:
    """The file by which a process joins a group that has this share of one CPU; none where none can be made."""
    for top in CPU_GROUPS:
        group = top / f"warpgrade-platform-{os.getpid()}"
        quota = int(PERIOD_US * share)
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            limits = {"cpu.cfs_quota_us": f"{quota}", "cpu.max": f"{quota} {PERIOD_US}"}
            for name, value in limits.items():
                if (group / name).exists():
                    (group / name).write_text(value, encoding="ascii")
                    yield [group / "cgroup.procs"]
                    return
        finally:
            leave(group)
    yield []


def container(
    command: list[str],
    binds: dict[Path, str],
    *,
    folder: str = "/",
    network: bool = True,
    cpu: float = 1,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command as root in a container that has this machine's /usr, the project and what is bound."""
    if (
        "--disable-userns"
        not in subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False).stdout
    ):
        pytest.skip("bubblewrap is older than 0.8: it makes no container that forbids namespaces")
    walls = ["bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    walls += ["--die-with-parent", "--clearenv"] + ([] if network else ["--unshare-net"])
    walls += [
        "--tmpfs",
        "/",
        "--ro-bind",
        "/usr",
        "/usr",
        "--ro-bind",
        "/etc",
        "/etc",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    for link in ("bin", "sbin", "lib", "lib64"):
        walls += ["--symlink", f"usr/{link}", f"/{link}"]
    walls += ["--tmpfs", "/tmp", "--dir", "/root"]  # noqa: S108 - the container's own
    walls += ["--ro-bind", str(ROOT), str(ROOT)]
    cache = (ROOT / ".cache").resolve()  # what is compiled for one container is there for the next
    for kept in {cache, WARPGRADE.resolve().parents[1]}:
        walls += ["--bind", str(kept), str(kept)]
    for outside, inside in binds.items():
        walls += ["--bind", str(outside), inside]
    words = {"PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    words |= {"WARPGRADE": str(WARPGRADE), "WARPGRADE_CACHE": str(cache)}
    for name, value in {**words, **(environment or {})}.items():
        walls += ["--setenv", name, value] if value else []
    with share_of_cpu(cpu) as groups:
        joins = "".join(f"echo $$ >{file} && " for file in groups)
        start = ["sh", "-c", f'{joins}exec "$@"', "platform"]
        return subprocess.run(
            [*start, *walls, "--chdir", folder, *command], capture_output=True, text=True, timeout=600, check=False
        )


class GithubRunner:
    """GitHub's runner, as far as `run:` steps go: src/Runner.Worker/Handlers/ScriptHandler.cs starts bash this way."""

    def __init__(self, workflow: Path, folder: Path, package: Path) -> None:
        self.workflow: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))
        self.folder, self.package = folder, package
        for name in ("work", "temp", "home"):
            (folder / name).mkdir()
        digest = subprocess.run(["sha256sum", package], capture_output=True, text=True, check=True)
        self.sha256 = digest.stdout.split()[0]

    def steps(self, job: str) -> dict[str, dict[str, Any]]:
        """The steps that are scripts; the others are GitHub's own actions."""
        return {step["name"]: step for step in self.workflow["jobs"][job]["steps"] if "run" in step}

    def run(self, step: dict[str, Any], **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a step in the job's workspace; temp/summary.md is its summary."""
        (self.folder / "temp/step.sh").write_text(step["run"], encoding="utf-8")
        (self.folder / "temp/summary.md").write_text("", encoding="utf-8")
        words = {**self.workflow["env"], **step.get("env", {})}
        words |= {"PACKAGE_URL": f"file://{self.package}", "PACKAGE_SHA256": self.sha256}
        words |= {"WARPGRADE": "", "WARPGRADE_CACHE": ""}  # the package's own
        words |= {"RUNNER_TEMP": "/temp", "GITHUB_STEP_SUMMARY": "/temp/summary.md", "HOME": "/home/runner", **more}
        places = {self.folder / "work": "/work", self.folder / "temp": "/temp", self.folder / "home": "/home/runner"}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/temp/step.sh"]
        environment = {name: str(value) for name, value in words.items()}
        binds = {**places, self.package: str(self.package)}
        return container(command, binds, folder="/work", cpu=2, environment=environment)
