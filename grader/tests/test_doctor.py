"""`warpgrade doctor` names a trouble and its cure; machine_checks_test.cpp has the systems that are not here."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conftest import WARPGRADE, warpgrade
from platform_box import container


def test_doctor_tells_of_a_toolkit_that_is_newer_than_the_driver(tmp_path: Path) -> None:
    """With a driver's own program that knows CUDA 11.0 alone, as far as its head goes."""
    (tmp_path / "nvidia-smi").write_text(
        "#!/bin/sh\necho '| NVIDIA-SMI 450.51.06    Driver Version: 450.51.06    CUDA Version: 11.0     |'\n",
        encoding="utf-8",
    )
    (tmp_path / "nvidia-smi").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    findings = json.loads(warpgrade("doctor", "--json", env=environment).stdout)["findings"]
    (toolkit,) = (finding for finding in findings if finding["topic"] == "CUDA toolkit")
    assert toolkit["state"] == "missing"
    assert "newer than the driver, which knows CUDA 11.0" in toolkit["found"]
    assert toolkit["advice"] == "set CUDA_HOME to a toolkit of CUDA 11.0 or older, or install a newer driver"


def test_doctor_tells_a_container_how_it_must_be_started(tmp_path: Path) -> None:
    """Root inside may make no namespace; /.dockerenv is Docker's mark."""
    (tmp_path / "mark").touch()
    done = container([str(WARPGRADE), "doctor"], {tmp_path / "mark": "/.dockerenv"})
    assert done.returncode == 1
    assert "missing  container        this container may make no namespaces" in done.stdout
    assert "-> start it with --security-opt seccomp=unconfined" in done.stdout
    assert "root may make user namespaces" not in done.stdout
