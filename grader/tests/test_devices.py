"""Several devices of one machine: a judge each, side by side, and the same leases for every run."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, records_of, warpgrade

NAIVE = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
HOW = ["--lab", "spmm", "--cases", "synth-all-empty-k32", "--backend", "emulator", "--quiet"]


@pytest.fixture
def devices(tmp_path: Path) -> dict[str, str]:
    """An environment of three emulated devices, with leases of this test's own."""
    (tmp_path / "leases").mkdir()
    return {**os.environ, "WARPEMU_DEVICES": "3", "WARPEMU_THREADS": "1", "TMPDIR": str(tmp_path / "leases")}


def a_class(folder: Path, students: int) -> Path:
    """Students with one program, which is compiled once."""
    for number in range(students):
        (folder / f"s{number}").mkdir(parents=True)
        (folder / f"s{number}/spmm.cu").write_text(NAIVE, encoding="utf-8")
    return folder


def devices_of(run: Path) -> set[str]:
    assert all(record["outcome"]["verdict"] == "accepted" for record in records_of(run))
    return {record["device"]["uuid"] for record in records_of(run)}


def test_each_device_has_a_judge_and_the_options_choose_among_them(tmp_path: Path, devices: dict[str, str]) -> None:
    hand_ins = a_class(tmp_path / "class", 6)
    done = warpgrade("grade", hand_ins, "--run", tmp_path / "all", *HOW, env=devices)
    assert done.returncode == 0, done.stderr
    assert devices_of(tmp_path / "all") == {"emulated-0", "emulated-1", "emulated-2"}
    chosen = {**devices, "CUDA_VISIBLE_DEVICES": "2,1"}
    done = warpgrade("grade", hand_ins, "--run", tmp_path / "one", *HOW, "--gpus", "0", env=chosen)
    assert done.returncode == 0, done.stderr
    assert devices_of(tmp_path / "one") == {"emulated-2"}, "counted in what CUDA_VISIBLE_DEVICES leaves"


def test_a_device_that_another_run_holds_is_waited_for_and_its_owner_told(
    tmp_path: Path, devices: dict[str, str]
) -> None:
    """The lease is the kernel's lock, whoever holds it: here this test."""
    lease = tmp_path / "leases/warpgrade-gpu-emulated-1.lock"
    hand_ins = a_class(tmp_path / "class", 1)
    how = [arg for arg in HOW if arg != "--quiet"]
    command = [str(WARPGRADE), "grade", str(hand_ins), "--run", str(tmp_path / "run"), *how, "--gpus", "1"]
    with lease.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        judging = subprocess.Popen(command, env=devices, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert judging.stderr is not None
        said = ""
        while "waiting for emulated device 1" not in said:
            line = judging.stderr.readline()
            assert line, said
            said += line
        assert f"(process {os.getpid()}) is using it" in said
        assert judging.poll() is None
    told = judging.communicate(timeout=120)[1]
    assert judging.returncode == 0, told
    assert devices_of(tmp_path / "run") == {"emulated-1"}


@pytest.mark.parametrize(
    ("environment", "gpus", "said"),
    [
        ({}, "3", "this machine has no GPU '3'; it has: emulated-0, emulated-1, emulated-2"),
        ({"WARPEMU_DEVICES": "none"}, "0", "WARPEMU_DEVICES is 'none'; it must be a number"),
        ({"WARPEMU_DEVICES": ""}, "0", "WARPEMU_DEVICES=2 gives it two"),
    ],
)
def test_a_device_that_is_not_there_is_refused(
    tmp_path: Path, devices: dict[str, str], environment: dict[str, str], gpus: str, said: str
) -> None:
    hand_ins = a_class(tmp_path / "class", 1)
    done = warpgrade("grade", hand_ins, "--run", tmp_path / "run", *HOW, "--gpus", gpus, env={**devices, **environment})
    assert done.returncode == 1
    assert said in done.stderr
