"""A command of warpgrade, measured: seconds and memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = Path(os.environ.get("WARPGRADE", ROOT / "build/bin/warpgrade"))


def measured(command: list[str | Path]) -> dict[str, float]:
    """Seconds and memory of a command with its children, each waited for."""
    with tempfile.TemporaryFile() as said:
        start = time.monotonic()
        process = subprocess.Popen([WARPGRADE, *command], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise SystemExit(said.read().decode(errors="replace"))
    return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "memory_mb": usage.ru_maxrss / 1024}
