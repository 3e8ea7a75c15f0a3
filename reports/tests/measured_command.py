"""A command of warpgrade, measured: seconds and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = Path(os.environ.get("WARPGRADE", ROOT / "build/bin/warpgrade"))


def measured(command: list[str | Path]) -> dict[str, float]:
    """Seconds and memory of a command with its children, each waited for.

    Another process starts it: a process counts as its own what the one that it was copied from held (getrusage(2)).
    """
    words = [sys.executable, __file__, WARPGRADE, *command]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def main() -> int:
    """Runs the command that the arguments are, and prints what it took; its exit code."""
    start = time.monotonic()
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "memory_mb": usage.ru_maxrss / 1024}))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
