"""Limits of time: CPU time decides a compilation, a case has a total, and a busy machine costs nobody points."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, WARPGRADE, records_of, warpgrade
from corpus import POLICY, add_common_files

CASE = "synth-ragged-k32"
HONEST = '#include "honest.cuh"\nPLANS_NOTHING\nANSWERS_HONESTLY\n'
CORES = len(os.sched_getaffinity(0))

# n01_sleeps_in_every_call, with shorter sleeps: no call meets its own limit, all together hold a GPU for long.
SLEEPS = """#include <unistd.h>
#include "honest.cuh"
cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  sleep(1);
  return cudaSuccess;
}
cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  sleep(1);
  return honest_run(a, k, b, c, stream);
}
void spmm_free(SpmmPlan*) { sleep(1); }
"""

# Honest work on every core for 0.6 s in each run, by the clock that others do not turn.
WORKS = """#include <ctime>
#include <thread>
#include <vector>
#include "honest.cuh"
PLANS_NOTHING
cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  const unsigned cores = std::thread::hardware_concurrency();
  const clock_t end = clock() + cores * (6 * CLOCKS_PER_SEC / 10);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < cores; ++i)
    threads.emplace_back([=] {
      while (clock() < end) {
      }
    });
  for (std::thread& thread : threads) thread.join();
  return honest_run(a, k, b, c, stream);
}
"""


def add(folder: Path, name: str, source: str) -> None:
    """A submission of the class in `folder`."""
    (folder / name).mkdir(parents=True)
    (folder / name / "spmm.cu").write_text(source, encoding="utf-8")
    add_common_files(folder / name)


def heavy_kernel() -> str:
    """80,000 statements: the compiler is busy for many seconds."""
    body = "".join(f"  x = x * y + {i}.f;\n  y = y * z + x;\n" for i in range(40_000))
    return f"__global__ void heavy(float* c, float x, float y, float z) {{\n{body}  *c = x + y;\n}}\n"


def policy(scratch: Path, **limits: Any) -> Path:
    """The corpus's policy with these limits."""
    written = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    written["limits"] |= limits
    file = scratch / "policy.yaml"
    file.write_text(yaml.safe_dump(written), encoding="utf-8")
    return file


def grade_words(scratch: Path, rules: Path) -> list[str]:
    """The command that judges scratch/class into scratch/run."""
    words = [WARPGRADE, "grade", scratch / "class", "--lab", "spmm", "--run", scratch / "run", "--no-speed"]
    return [str(word) for word in [*words, "--backend", "emulator", "--cases", CASE, "--policy", rules]]


def grade(scratch: Path, rules: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The class judged: each submission's record."""
    done = warpgrade(*grade_words(scratch, rules)[1:], timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return {record["submission"]["id"]: record for record in records_of(scratch / "run")}


def compiled(scratch: Path, name: str) -> dict[str, Any]:
    """What the run says of the submission's compilation."""
    file = scratch / "run/submissions" / name / "compile.json"
    result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return result


def events(scratch: Path) -> list[str]:
    """The names of what the run has noted so far."""
    texts = [file.read_text(encoding="utf-8") for file in (scratch / "run/events").glob("*")]
    return [json.loads(line)["event"] for text in texts for line in text.split("\n") if line.endswith("}")]


@contextlib.contextmanager
def busy_machine(processes: int, command: str) -> Iterator[Callable[[], None]]:
    """So many other processes that do this again and again; what it gives ends them early."""
    loop = ["timeout", "240", "sh", "-c", f"while :; do {command}; done"]
    others = [
        subprocess.Popen(loop, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(processes)
    ]

    def end() -> None:
        for other in others:
            if other.returncode is None:
                os.killpg(other.pid, signal.SIGKILL)
        for other in others:
            other.wait()

    try:
        yield end
    finally:
        end()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found compiled, but the runner's objects that the others' cache has."""
    home = Path(os.environ.get("WARPGRADE_CACHE", Path(__file__).parents[2] / ".cache"))
    cache = tmp_path / "cache"
    (cache / "compiled").mkdir(parents=True)
    for folder in (home / "compiled").glob("runner-*"):
        (cache / "compiled" / folder.name).symlink_to(folder.resolve())
    monkeypatch.setenv("WARPGRADE_CACHE", str(cache))


@pytest.mark.usefixtures("own_cache")
def test_honest_programs_compile_beside_seven_busy_compilations(tmp_path: Path) -> None:
    """Their clocks go far beyond the limit, their CPU time stays what it is alone."""
    add(tmp_path / "alone/class", "honest", HONEST)
    grade(tmp_path / "alone", policy(tmp_path / "alone", compile_s=60))
    limit = max(1.0, 2.5 * compiled(tmp_path / "alone", "honest")["cpu_seconds"])
    for name in ("first", "second"):
        add(tmp_path / "class", name, f"// {name}\n{HONEST}")
    (tmp_path / "heavy.cu").write_text(heavy_kernel(), encoding="utf-8")
    known = (ROOT / ".cache/toolchain.env").read_text(encoding="utf-8")
    nvcc = re.findall(r"^NVCC=(.*)$", known, re.MULTILINE)[0]
    with busy_machine(7 * max(1, CORES // 2), f"{nvcc} -arch=sm_90 -cubin -o /dev/null {tmp_path}/heavy.cu"):
        judged = grade(tmp_path, policy(tmp_path, compile_s=limit))
    took = [compiled(tmp_path, name) for name in ("first", "second")]
    for one in took:
        if one["status"] != "compiled" and one["seconds"] > 4.5 * limit:  # of the clock there are five times as much
            pytest.skip(f"more than seven keep this machine busy: {one['message']}")
    assert {name: record["outcome"]["verdict"] for name, record in judged.items()} == {
        "first": "accepted",
        "second": "accepted",
    }
    assert all(one["cpu_seconds"] < limit for one in took)
    assert max(one["seconds"] for one in took) > limit, "nobody was beside them"


@pytest.mark.usefixtures("own_cache")
def test_kernels_of_80000_statements_cost_their_own_authors(tmp_path: Path) -> None:
    """In one class with honest programs: the message has limit and load."""
    for name in ("a-honest", "z-honest"):
        add(tmp_path / "class", name, f"// {name}\n{HONEST}")
    for name in ("heavy1", "heavy2"):
        add(tmp_path / "class", name, f"// {name}\n{HONEST}{heavy_kernel()}")
    judged = grade(tmp_path, policy(tmp_path, compile_s=2.5))
    for name, record in judged.items():
        outcome = record["outcome"]
        if name.endswith("honest"):
            assert outcome["verdict"] == "accepted", outcome
        else:
            assert (outcome["verdict"], outcome["reason"]) == ("compile_error", "out_of_time"), outcome
            assert "s of CPU time, the limit is 2.5 s (load " in outcome["message"]
            assert f"load {compiled(tmp_path, name)['message'].split('load ')[1]}" in outcome["message"]
            assert compiled(tmp_path, name)["cpu_seconds"] < 6


def test_a_program_that_sleeps_in_every_call_meets_the_cases_total(tmp_path: Path) -> None:
    """Seven calls of one second, each within its own limit of two: the case has six."""
    add(tmp_path / "class", "sleeps", SLEEPS)
    add(tmp_path / "class", "honest", HONEST)
    judged = grade(tmp_path, policy(tmp_path, run_s={"emulator": 2}))
    assert judged["honest"]["outcome"]["verdict"] == "accepted"
    outcome = judged["sleeps"]["outcome"]
    assert (outcome["verdict"], outcome["reason"]) == ("time_limit", "out_of_time"), outcome
    words = r"all calls of a case may take 6 s together \(the case's calls took 6(\.\d+)? s of 6 s; load "
    assert re.search(words, outcome["message"]), outcome["message"]
    assert 6 <= judged["sleeps"]["calls"]["total_s"] < 8


def test_a_longer_total_is_the_policy_s_to_give(tmp_path: Path) -> None:
    """The same program with `case_s`."""
    add(tmp_path / "class", "sleeps", SLEEPS)
    judged = grade(tmp_path, policy(tmp_path, run_s={"emulator": 4}, case_s={"emulator": 30}))
    assert judged["sleeps"]["outcome"]["verdict"] == "accepted", judged["sleeps"]["outcome"]
    assert judged["sleeps"]["calls"]["total_s"] >= 7


def twice_the_time_alone(scratch: Path) -> Path:
    """The program of scratch/class judged once with all time; a policy that gives a call twice what it took."""
    alone = scratch / "alone"
    shutil.copytree(scratch / "class", alone / "class")
    record = grade(alone, policy(alone, run_s={"emulator": 60}))["works"]
    assert record["outcome"]["verdict"] == "accepted", record["outcome"]
    a_run = record["calls"]["total_s"] / record["verification"]["repetitions"]
    return policy(scratch, run_s={"emulator": round(2 * a_run, 2)}, case_s={"emulator": 60})


def expect_accepted(record: dict[str, Any]) -> None:
    """Unless something else on this machine has kept its cores busy in the second try as well."""
    if record["outcome"]["verdict"] == "time_limit" and record["calls"]["busy"]:
        pytest.skip(f"others keep this machine busy: {record['outcome']['message']}")
    assert record["outcome"]["verdict"] == "accepted", record["outcome"]


def judge_beside_others(scratch: Path, rules: Path, then: Callable[[subprocess.Popen[str]], None]) -> None:
    """Judges while the machine is busy, until the first try has failed; `then` gets the run that goes on."""
    with busy_machine(8 * CORES, ":") as end_others:
        command = grade_words(scratch, rules)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
            until = time.monotonic() + 120
            while "judged_alone" not in events(scratch) and run.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            end_others()
            then(run)


def test_a_case_that_a_busy_machine_ended_is_judged_again_alone(tmp_path: Path) -> None:
    """The first try is not recorded; behind all others the program has the cores and gets its points."""
    add(tmp_path / "class", "works", WORKS)

    def wait(run: subprocess.Popen[str]) -> None:
        words, _ = run.communicate(timeout=120)
        assert run.returncode == 0, words
        assert "[alone] works" in words

    judge_beside_others(tmp_path, twice_the_time_alone(tmp_path), wait)
    assert "judged_alone" in events(tmp_path)
    (record,) = records_of(tmp_path / "run")
    expect_accepted(record)


def test_a_run_that_ends_before_the_second_try_makes_it_up(tmp_path: Path) -> None:
    """Nothing was recorded, so the same command judges the case."""
    add(tmp_path / "class", "works", WORKS)
    rules = twice_the_time_alone(tmp_path)

    def stop(run: subprocess.Popen[str]) -> None:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=120)

    judge_beside_others(tmp_path, rules, stop)
    assert "judged_alone" in events(tmp_path)
    assert not list((tmp_path / "run/cases").rglob("*.json"))
    expect_accepted(grade(tmp_path, rules)["works"])
