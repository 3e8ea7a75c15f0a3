"""A small class on a real Slurm, for tests: its hand-ins, its policy, its site's file, and what became of it.

slurm_cluster.py makes the cluster.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, warpgrade
from slurm_cluster import Cluster

NAIVE = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
CASES = "one,odd"
POLICY = """schema: warpgrade.policy.v1
name: vector_add
lab: vector_add
baseline: naive
points: {correctness: 100, speed: 0}
limits: {compile_s: 60, run_s: {cuda: 20, emulator: 20}, host_memory_mb: 2048, device_memory_mb: 1024}
"""


def wait_until(what: str, condition: Callable[[], Any], timeout_s: float, every_s: float = 0.2) -> Any:
    """The condition's value once it is true."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(every_s)
    pytest.fail(f"after {timeout_s} s still not: {what}")


def log_lines(log: list[dict[str, Any]]) -> str:
    """A run's events, a line each: pytest shortens a list, and a failed test needs all of them."""
    return "\n".join(
        f"{e['at'][11:23]} {e.get('node', '-')} {e.get('job', '-')} {e['event']}: {e.get('message', '')}" for e in log
    )


class Run:
    """A small class on a cluster."""

    def __init__(self, folder: Path, cluster: Cluster, students: dict[str, str]) -> None:
        self.folder, self.cluster, self.run = folder, cluster, folder / "week7"
        for name, text in students.items():
            (folder / "class" / name).mkdir(parents=True)
            (folder / "class" / name / "vector_add.cu").write_text(text, encoding="utf-8")
        (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        self.options: tuple[str | Path, ...] = (
            "--lab",
            "vector_add",
            "--submissions",
            folder / "class",
            "--cases",
            CASES,
        )
        self.options += ("--backend", "emulator", "--policy", folder / "policy.yaml", "--quiet")

    def site(self, **settings: Any) -> Path:
        """The site's file; JSON is YAML."""
        path = self.folder / "site.yaml"
        site = {"compile": {"partition": "cpu"}, "judge": {"partition": "gpu"}, "aggregate": {"partition": "cpu"}}
        path.write_text(json.dumps({**site, **settings}), encoding="utf-8")
        return path

    def call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """The program, which finds the cluster."""
        return warpgrade(*arguments, env=self.cluster.environment)

    def batch(self, site: Path, *more: str) -> subprocess.CompletedProcess[str]:
        """The class, submitted."""
        return self.call("batch", self.run, *self.options, "--executor", "slurm", "--site", site, *more)

    def events(self) -> list[dict[str, Any]]:
        """Everything that was logged so far."""
        lines = [line for path in self.run.glob("events/*.jsonl") for line in path.read_text().splitlines()]
        return sorted((json.loads(line) for line in lines), key=lambda event: str(event["at"]))

    def scored(self) -> list[dict[str, Any]]:
        """The events of the run, once it was scored."""
        wait_until("the last event", lambda: any(e["event"] == "scored" for e in self.events()), 240)
        return self.events()

    def verdicts(self) -> dict[str, list[str]]:
        """By student."""
        scores = json.loads((self.run / "scores.json").read_text(encoding="utf-8"))
        return {s["id"]: [case["verdict"] for case in s["cases"]] for s in scores["submissions"]}
