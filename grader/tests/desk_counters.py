"""Runs with counters on this machine's own desk: five kernels of the staff's on a real GPU, under the real ncu.

desk_counters.py --output FILE.json: makes a desk, asks it for each kernel as a student does, and prints what is within
the bar and what is apart. Exit code 1: something was not counted, or a report is missing or tells of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from conftest import ROOT, WARPGRADE
from desk_place import desk_at

KERNELS = [
    ("spmm", "naive", "synth-ragged-k32"),
    ("spmm", "optimized", "synth-hub-k32"),
    ("sampling", "optimized", "synth-hub-100x4"),
    ("histogram", "naive", "uniform-small"),
    ("transpose", "naive", "wide"),
]


def ask(desk_folder: Path, place: Path, student: str, kernel: tuple[str, str, str]) -> subprocess.Popen[str]:
    """`make profile REMOTE=` of a student, without sshd."""
    lab, solution, case = kernel
    place.mkdir(parents=True)
    ssh = place / "ssh"
    ssh.write_text(
        f"#!/bin/sh\nexec '{WARPGRADE}' desk --folder '{desk_folder}' --student {student}\n", encoding="utf-8"
    )
    ssh.chmod(0o755)
    words = ["--lab", lab, "--case", case, "--remote", "here.example.edu"]
    return subprocess.Popen(
        [str(WARPGRADE), "profile", str(ROOT / "reference" / lab / solution), *words],
        cwd=place,
        env={**os.environ, "WARPGRADE_SSH": str(ssh)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def look_at(place: Path, said: str) -> tuple[dict[str, object], str]:
    """What came back, and what is wrong with it."""
    found = list(place.glob("runs/remote/*/*/counters/*/hardware.json"))
    if not found:
        return {}, f"nothing was counted: {said.strip()[-300:]}"
    summary = json.loads(found[0].read_text(encoding="utf-8"))
    figures = [figure for kernel in summary["kernels"] for figure in kernel["figures"]]
    apart = [f"{figure['name']} {figure['apart']:.0%}" for figure in figures if figure.get("within") is False]
    report = found[0].parent / "profile.ncu-rep"
    row = {
        "case": f"{summary['lab']} {summary['case']}",
        "kernels": [kernel["kernel"] for kernel in summary["kernels"] if "launches" in kernel],
        "within": sum(figure.get("within") is True for figure in figures),
        "apart": apart,
        "report_bytes": report.stat().st_size if report.exists() else 0,
        "summary": summary,
    }
    if not any("hardware" in figure for figure in figures):
        return row, "no figure of the hardware"
    if not report.exists():
        return row, f"no report: {said.strip()[-300:]}"
    told = report.read_bytes()
    for name in (socket.gethostname(), str(ROOT)):
        # As a word: a host that is called vm is not meant by gpu_direct_rdma_with_cuda_vmm_supported.
        if re.search(rb"(?<![A-Za-z0-9_])" + re.escape(name.encode()) + rb"(?![A-Za-z0-9_])", told):
            return row, f"the report tells of this machine: {name}"
    source = f"{summary['lab']}_run".encode()
    return row, "" if source in told else "the report holds no source"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    rows, wrong, begin = [], [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="desk-counters-") as made, desk_at(Path(made)) as desk:
        (desk.folder / "desk.yaml").write_text(
            f"schema: warpgrade.desk.v1\nbackend: {arguments.backend}\nworkers: {len(KERNELS)}\n"
            "counters: {runs_per_day: 9, seconds: 60}\n",
            encoding="utf-8",
        )
        desk.serve()
        places = [Path(made) / f"student-{number}" for number in range(len(KERNELS))]
        asked = [ask(desk.folder, place, place.name, kernel) for place, kernel in zip(places, KERNELS, strict=True)]
        for place, kernel, running in zip(places, KERNELS, asked, strict=True):
            said, _ = running.communicate(timeout=300)
            row, trouble = look_at(place, said)
            rows.append(row)
            wrong += [f"{kernel[0]} {kernel[1]}: {trouble}"] if trouble else []
            print(said)
        print((Path(made) / "serve.log").read_text(encoding="utf-8"))
    arguments.output.write_text(json.dumps({"runs": rows, "wrong": wrong}, indent=1) + "\n", encoding="utf-8")
    within = sum(int(str(row.get("within", 0))) for row in rows)
    apart = [f"{row['case']}: {', '.join(map(str, row['apart']))}" for row in rows if row.get("apart")]  # type: ignore[call-overload]
    seconds = time.monotonic() - begin
    print("; ".join(wrong) or f"{within} counters within 5 %, apart: {'; '.join(apart) or 'none'}; {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
