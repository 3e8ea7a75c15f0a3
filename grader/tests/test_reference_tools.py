"""The optimized solutions on sizes and inputs that the labs' cases do not reach on the emulator."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE

REFERENCE = ROOT / "reference"


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """The emulated runtime first, and the compiler that the project was built with."""
    toolchain = dict(line.split("=", 1) for line in (ROOT / ".cache/toolchain.env").read_text().splitlines() if line)
    compiler = Path(toolchain["NVCC"].strip('"')).parent
    emulator = WARPGRADE.resolve().parents[1] / "emulator"
    return {**os.environ, "PATH": f"{compiler}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(emulator)}


def run(command: list[str], environment: dict[str, str]) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_spmm_is_right_for_every_width_up_to_160_and_many_beyond(environment: dict[str, str]) -> None:
    emulator = environment["LD_LIBRARY_PATH"]
    out = run(
        ["bash", str(REFERENCE / "spmm/tools/check.sh"), str(REFERENCE / "spmm/optimized"), emulator], environment
    )
    assert ", 0 wrong cells" in out
    assert int(out.split()[0]) > 250, out


def test_apsp_in_16_bits_is_exact_at_the_edge_of_what_they_hold(environment: dict[str, str], tmp_path: Path) -> None:
    always = "-DAPSP_PACKED_FROM=1 -DAPSP_PACKED_CAPABILITY=0 -DAPSP_LARGE_FROM=1"
    bench = str(REFERENCE / "apsp/tools/bench.sh")
    out = run(["bash", bench, str(tmp_path), "check", f"packed=optimized:{always}"], environment)
    assert out.endswith("0 wrong\n")
