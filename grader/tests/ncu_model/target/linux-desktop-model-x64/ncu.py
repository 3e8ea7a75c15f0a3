#!/usr/bin/python3
"""A model of NVIDIA's Nsight Compute for machines without a GPU.

It takes the options that are given to ncu, runs the program on the emulator, and reports the emulator's counters under
ncu's names, in the form that ncu 2025.3.1 printed on an H200 (grader/emulator/tests/hardware/records/h200). Its
report is a file of its own. Like ncu's it holds the host's name, the working folder, the environment and the sources.
"""

from __future__ import annotations

import csv
import json
import os
import pathlib
import socket
import subprocess
import sys

LSU = "_pipe_lsu_mem_global_op_"
METRICS = {
    "smsp__inst_executed.sum": "warp_instructions",
    **{
        f"l1tex__t_{what}{LSU}{op}.sum": f"global_{word}_{what}"
        for op, word in (("ld", "load"), ("st", "store"))
        for what in ("requests", "sectors")
    },
    f"l1tex__t_sectors{LSU}atom.sum": "global_atomic_sectors",
    **{
        name: f"shared_{word}_{what}"
        for op, word in (("ld", "load"), ("st", "store"))
        for name, what in (
            (f"smsp__inst_executed_op_shared_{op}.sum", "requests"),
            (f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum", "passes"),
        )
    },
    "gpu__time_duration.sum": "wall_ms",
}
WITH_VALUE = {
    "--profile-from-start", "--clock-control", "--launch-count", "--import-source", "--source-folders",
    "--section-folder", "--section", "--metrics", "--export", "--import", "--page", "--print-units",
}  # fmt: skip
ALONE = {"--force-overwrite", "--csv", "--query-metrics"}


def fail(words: str) -> None:
    print(f"==ERROR== {words}", file=sys.stderr)
    sys.exit(1)


def options_of(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options, and the program with its arguments."""
    options: dict[str, str] = {}
    while words and words[0].startswith("--"):
        name = words.pop(0)
        if name not in WITH_VALUE | ALONE:
            fail(f"unrecognised option '{name}'")
        options[name] = words.pop(0) if name in WITH_VALUE else ""
    return options, words


def collect(options: dict[str, str], command: list[str]) -> None:
    unknown = [name for name in options["--metrics"].split(",") if name not in METRICS]
    if unknown:
        fail(f"Failed to find metric {unknown[0]}")
    # ncu talks to the program over the loopback, from port 49152 on.
    with socket.socket() as port:
        port.bind(("127.0.0.1", 49152))
        port.listen()
        socket.create_connection(port.getsockname()).close()
    environment = {**os.environ, "WARPEMU_CHECKS": "counters"}
    done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        fail(f"The application returned an error code ({done.returncode}).")
    kernels = []
    for line in done.stdout.split("\n"):
        if line.startswith("{"):
            counted = json.loads(line)
            if "kernel" in counted and "line" not in counted and "buffer" not in counted:
                kernels.append(counted)
    if not kernels:
        print("==WARNING== No kernels were profiled.", file=sys.stderr)
        return
    sources = {
        str(file): file.read_text(encoding="utf-8", errors="replace")
        for file in pathlib.Path(options["--source-folders"]).rglob("*")
        if file.is_file()
    }
    report = {
        "hostname": socket.gethostname(),
        "folder": str(pathlib.Path.cwd()),
        "command": command,
        "environment": [f"{name}={value}" for name, value in os.environ.items()],
        "sources": sources,
        "kernels": kernels,
    }
    pathlib.Path(options["--export"] + ".ncu-rep").write_text("NVR\n" + json.dumps(report), encoding="utf-8")


def show(options: dict[str, str]) -> None:
    text = pathlib.Path(options["--import"]).read_text(encoding="utf-8")
    report = json.loads(text.removeprefix("NVR\n"))
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    if options["--page"] == "session":
        for name in ("hostname", "folder", "command"):
            out.writerow([name, report[name]])
        return
    out.writerow(["ID", "Process ID", "Host Name", "Kernel Name", *METRICS])
    out.writerow(["", "", "", "", *("" for _ in METRICS)])
    number = 0
    for kernel in report["kernels"]:
        launches = kernel.get("launches", 1)
        figures = [f"{kernel.get(counter, 0) / launches:,.6f}" for counter in METRICS.values()]
        for _ in range(launches):
            out.writerow([number, 1, "127.0.0.1", f"{kernel['kernel']}(int)", *figures])
            number += 1


def main() -> None:
    options, command = options_of(sys.argv[1:])
    if "--query-metrics" in options:
        print("\n".join(f"{name.split('.')[0]:<70} Counter" for name in METRICS))
    elif "--import" in options:
        show(options)
    else:
        collect(options, command)


main()
