"""The run box through `warpgrade grade`: what takes a machine costs its own case, promptly, and leaves nothing behind.

Every hostile submission is bounded by itself as well, so that a broken box costs little.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import records_of, warpgrade
from corpus import BACKEND
from hostile_class import CASE, HOSTILE, POLICY, make_class

pytestmark = pytest.mark.alone


def isolation() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(warpgrade("doctor", "--json").stdout)["isolation"]
    return told


def group_folders() -> set[str]:
    """Control groups of the project, of anybody's runs; `warpgrade.self` stays."""
    return {
        str(Path(folder, child))
        for folder, children, _ in os.walk("/sys/fs/cgroup")
        for child in children
        if child.startswith("warpgrade.") and child != "warpgrade.self"
    }


def groups_of_the_dead() -> set[str]:
    """Those whose owner, which their name holds, is gone."""
    return {folder for folder in group_folders() if not Path("/proc", folder.rsplit("/", 1)[1].split(".")[2]).exists()}


def processes_of_runners() -> set[str]:
    """Processes inside of run boxes whose judge is gone: bubblewrap's child has been given another parent."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if command.startswith(b"/run/warpgrade/runner") and parent == "1":
            found.add(process.name)
    return found


def test_what_takes_the_machine_costs_its_own_case_and_leaves_nothing(tmp_path: Path) -> None:
    missing = isolation()["missing"]
    if missing:
        pytest.skip(f"this machine lacks {missing}")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    folder = make_class(tmp_path / "class", list(HOSTILE))
    groups, processes = groups_of_the_dead(), processes_of_runners()
    run = tmp_path / "run"
    begin = time.monotonic()
    graded = warpgrade("grade", folder, *CASE, "--policy", tmp_path / "policy.yaml", "--run", run)
    assert graded.returncode == 0, graded.stderr
    assert time.monotonic() - begin < 300
    records = {record["submission"]["id"]: record for record in records_of(run)}
    outcomes = {
        name: (record["outcome"]["verdict"], record["outcome"].get("reason", "")) for name, record in records.items()
    }
    # Its children slow itself down, and nobody else; whether it still ends in time is the machine's speed.
    assert outcomes.pop("spinning_children")[0] in {"accepted", "time_limit"}
    assert outcomes == {
        "fork_bomb": ("runtime_error", "process_limit"),
        "thread_bomb": ("runtime_error", "process_limit"),
        "shared_memory": ("memory_limit", "host_memory"),
        "memory_file": ("memory_limit", "host_memory"),
        "private_memory": ("memory_limit", "host_memory"),
        "fills_files": ("accepted", ""),
    }
    slow = {name: record["wall_s"] for name, record in records.items() if record["wall_s"] > 30}
    assert not slow
    for record in records.values():
        assert record["isolation"]["missing"] == []
        assert record["isolation"]["seccomp"] is True
    assert groups_of_the_dead() <= groups
    assert processes_of_runners() <= processes


# A submission that tells what its host process finds around it, in the words of an exception.
LOOKS_AROUND = r"""
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "warpgrade/spmm.h"

static std::string found() {
  std::string nodes, sockets, writable, seccomp, libraries;
  for (const auto& entry : std::filesystem::directory_iterator("/dev")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("nvidia", 0) == 0 || name == "dri") nodes += name + ",";
  }
  for (int fd = 0; fd < 1024; ++fd) {
    char path[256] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), path, sizeof path - 1) > 0 && std::strncmp(path, "socket:", 7) == 0)
      sockets += std::to_string(fd) + ",";
  }
  for (const char* folder : {"/", "/dev", "/etc", "/run", "/run/warpgrade", "/usr", "/usr/lib", "/proc/sys", "."}) {
    const std::string file = std::string(folder) + "/written";
    if (open(file.c_str(), O_CREAT | O_WRONLY, 0600) >= 0) writable += std::string(folder) + ",";
  }
  std::ifstream status("/proc/self/status"), maps("/proc/self/maps");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Seccomp:", 0) == 0) seccomp = line.substr(9);
  for (std::string line; std::getline(maps, line);)
    if (line.find("libcuda.so") != std::string::npos) libraries = "mapped,";
  for (const char* folder : {"/run", "/usr", "/lib", "/lib64"}) {
    const auto options = std::filesystem::directory_options::skip_permission_denied;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, options)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("libcuda.so", 0) != 0 && name.rfind("libnvidia-", 0) != 0) continue;
      if (std::ifstream(entry.path()).get() != EOF) libraries += entry.path().string() + ",";
    }
  }
  const char* told = getenv("WARPGRADE_EXECUTOR");
  return "nodes=" + nodes + " driver=" + libraries + " sockets=" + sockets + " executor=" + (told ? told : "none") +
         " seccomp=" + seccomp + " writable=" + writable + " end";
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan**, cudaStream_t) { throw std::runtime_error(found()); }
cudaError_t spmm_run(const CsrMatrix&, int, const float*, float*, SpmmPlan*, cudaStream_t) { return cudaSuccess; }
void spmm_free(SpmmPlan*) {}
"""


def test_a_host_process_finds_no_gpu_no_driver_and_one_socket_in_its_box(tmp_path: Path) -> None:
    """Listed from inside, on the backend that WARPGRADE_TEST_BACKEND names: on a GPU it says most."""
    if "sandbox" in isolation()["missing"]:
        pytest.skip("this machine has no sandbox")
    source = tmp_path / "class/looks/spmm.cu"
    source.parent.mkdir(parents=True)
    source.write_text(LOOKS_AROUND, encoding="utf-8")
    # A machine that has not read its /usr yet needs longer than ten seconds to list it.
    patient = POLICY.replace("emulator: 10", "emulator: 120").replace("cuda: 10", "cuda: 120")
    (tmp_path / "policy.yaml").write_text(patient, encoding="utf-8")
    case = ("--cases", "synth-identity-k32", "--backend", BACKEND, "--quiet")
    run = tmp_path / "run"
    graded = warpgrade("grade", tmp_path / "class", *case, "--policy", tmp_path / "policy.yaml", "--run", run)
    assert graded.returncode == 0, graded.stderr
    (record,) = records_of(run)
    message = record["outcome"]["message"]
    seccomp = "0" if "seccomp" in isolation()["missing"] else "2"
    expected = f"nodes= driver= sockets=3, executor=3 seccomp={seccomp} writable= end"
    assert expected in message, message


def test_a_machine_without_control_groups_says_so_once_in_records_and_may_be_refused(tmp_path: Path) -> None:
    """WARPGRADE_CGROUPS=none is such a machine."""
    bare = {**os.environ, "WARPGRADE_CGROUPS": "none"}
    doctor = warpgrade("doctor", env=bare)
    assert doctor.returncode == 1
    assert "missing  cgroup" in doctor.stdout
    assert "->" in doctor.stdout
    folder = make_class(tmp_path / "class", ["private_memory"])
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    options = (*CASE[:-1], "--policy", tmp_path / "policy.yaml", "--run", tmp_path / "run", "--allow-unsandboxed")
    refused = warpgrade("grade", folder, *options, "--require-isolation", env=bare)
    assert refused.returncode == 1
    for word in ("--require-isolation", "memory:", "processes:", "cpu:", "freezer:"):
        assert word in refused.stderr
    assert not (tmp_path / "run").exists()
    graded = warpgrade("grade", folder, *options, env=bare)
    assert graded.returncode == 0, graded.stderr
    assert graded.stderr.count("not fully isolated") == 1
    (record,) = records_of(tmp_path / "run")
    assert record["outcome"]["verdict"] == "memory_limit"
    assert {"memory", "processes", "cpu", "freezer"} <= set(record["isolation"]["missing"])
    assert record["isolation"]["cgroup"] == {"version": "none", "controllers": []}


def test_doctor_tells_a_program_what_it_tells_a_person() -> None:
    doctor = warpgrade("doctor", "--json")
    found = json.loads(doctor.stdout)
    assert found["schema"] == "warpgrade.doctor.v1"
    assert (doctor.returncode == 0) == found["isolated"]
    topics = {finding["topic"] for finding in found["findings"]}
    assert {"sandbox", "user namespaces", "cgroup", "seccomp", "GPU", "CUDA toolkit", "disk", "Slurm"} <= topics
    assert {finding["state"] for finding in found["findings"]} <= {"ok", "limited", "missing"}
