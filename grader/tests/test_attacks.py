"""The attacks of the corpus, judged as a class beside honest copies: each gets its verdict, nobody else's changes.

An attack is an example whose expected.yaml names a category (`attack: timing`), or what hostile.py lays out. A
`known_gap` is a verdict that the judge does not reach yet: shown as an expected failure, with its reason.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE
from corpus import (
    BACKEND,
    CATEGORIES,
    COMMON,
    CORPUS,
    Example,
    Judged,
    add_common_files,
    box_of_this_machine,
    grade_class,
    read_corpus,
    read_judged,
)
from hostile import ALONE, HONEST, LAID_OUT

ATTACKS = [example for example in read_corpus() if example.attack is not None]
LEAST = 60  # attacks in all
LEAST_ON_TIME = 25  # against the executor's clock or its ring
RUN_S = 8  # on the emulator; an honest run takes 0.3
HONEST_NAMES = ("a-honest", "m-honest", "z-honest")  # first, in the middle and last of the class
GROUPS = sorted({(attack.lab, attack.cases) for attack in ATTACKS})


def lay_out_honest(lab: str, target: Path) -> None:
    """The staff's first solution of the lab; of spmm the program that most attacks compute with."""
    if lab != "spmm":
        shutil.copytree(ROOT / "reference" / lab / "naive", target)
        return
    target.mkdir(parents=True)
    (target / "spmm.cu").write_text(HONEST, encoding="utf-8")
    add_common_files(target)


def daemons() -> set[str]:
    """Processes that leaves_a_daemon has left, by the name that it gives them."""
    listed = subprocess.run(["ps", "-eo", "pid=,comm="], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line.split()[1:] == ["left-by-attack"]}


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Judged]]:
    """Each group's class, judged: what the run says of every submission."""
    boxed = box_of_this_machine(WARPGRADE) is None
    results = {}
    for number, (lab, cases) in enumerate(GROUPS):
        scratch = tmp_path_factory.mktemp(f"attacks{number}")
        for name in HONEST_NAMES if lab == "spmm" else HONEST_NAMES[:1]:
            lay_out_honest(lab, scratch / "class" / name)
        for attack in ATTACKS:
            runs_here = attack.missing is None and (boxed or attack.needs is None)
            if (attack.lab, attack.cases) == (lab, cases) and runs_here:
                attack.lay_out(scratch / "class" / attack.name)
        done = grade_class(WARPGRADE, scratch, lab, cases, BACKEND, run_s=RUN_S)
        assert done.returncode == 0, done.stdout + done.stderr
        results[lab, cases] = read_judged(scratch / "run")
    return results


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_gets_the_verdict_that_it_has_to_get(
    attack: Example, judged: dict[tuple[str, str], dict[str, Judged]]
) -> None:
    """The worst case's verdict, and the stated reason on a case that has it."""
    if attack.missing is not None:
        pytest.skip(attack.missing)
    if attack.needs is not None and (missing := box_of_this_machine(WARPGRADE)) is not None:
        pytest.skip(f"runs only inside a box that counts what it takes: {missing}")
    result = judged[attack.lab, attack.cases][attack.name]
    reached = result.verdict in attack.verdicts and (attack.reason is None or attack.reason in result.reasons)
    if not reached and attack.known_gap is not None:
        pytest.xfail(f"{result.verdict} instead of {attack.verdicts}: {attack.known_gap}")
    assert reached, (attack.verdicts, attack.reason, result)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]}-{group[1].split(',')[0]}")
def test_honest_neighbours_keep_their_verdict_and_the_judge_has_no_fault(
    group: tuple[str, str], judged: dict[tuple[str, str], dict[str, Judged]]
) -> None:
    """Whatever stood beside them, before and after."""
    results = judged[group]
    for name in set(HONEST_NAMES) & set(results):
        assert results[name].verdict == "accepted", results[name]
    gaps = {attack.name for attack in ATTACKS if attack.known_gap is not None}
    faults = {n: r.shown for n, r in results.items() if r.verdict == "judge_fault" and n not in gaps}
    assert not faults


def test_no_process_of_a_submission_outlives_the_class(judged: dict[tuple[str, str], dict[str, Judged]]) -> None:
    """A daemon in a session of its own that ignores signals; another run on this machine may have one for a moment."""
    assert judged
    left = daemons()
    for _ in range(20):
        if not left:
            return
        time.sleep(0.5)
        left &= daemons()
    pytest.fail(f"still there: {sorted(left)}")


@pytest.mark.parametrize("name", ALONE)
def test_nobody_beside_it_waits_or_goes_unjudged(name: str, tmp_path: Path) -> None:
    """A FIFO that nobody writes to, a message that is no text: they cost their own hand-in at most."""
    ALONE[name].lay_out(tmp_path / "class" / name)
    add_common_files(tmp_path / "class" / name)
    lay_out_honest("spmm", tmp_path / "class" / "honest")
    done = grade_class(WARPGRADE, tmp_path, "spmm", "synth-ragged-k32", BACKEND, timeout=240, run_s=RUN_S)
    assert done.returncode == 0, done.stderr
    judged = read_judged(tmp_path / "run")
    assert judged["honest"].verdict == "accepted"
    assert judged[name].verdict in ALONE[name].expected["verdict"]


def test_the_corpus_has_attacks_enough_of_every_category() -> None:
    """Each says what it does before it does it."""
    counts = Counter(attack.attack for attack in ATTACKS)
    assert set(counts) == set(CATEGORIES)
    assert counts.total() + len(ALONE) >= LEAST, counts
    assert min(counts.values()) >= 5, counts
    for attack in ATTACKS:
        if attack.folder is not None:
            source = next(iter(sorted([*attack.folder.glob("*.cu"), *attack.folder.glob("*.py")])))
            assert source.read_text(encoding="utf-8").startswith(("// ", "# ")), source.relative_to(CORPUS)
    assert all(thing.gain for thing in LAID_OUT.values())


def on_the_executor(attack: Example) -> bool:
    """Whether an attack speaks the executor's protocol, or is one on time."""
    if attack.folder is None:
        return False
    if (attack.folder / f"{attack.lab}.py").exists():
        return attack.attack == "timing"
    source = (attack.folder / f"{attack.lab}.cu").read_text(encoding="utf-8")
    return attack.attack == "timing" or '#include "executor_ring.cuh"' in source


def test_enough_attacks_are_on_the_executor_s_ring_and_clock() -> None:
    """Of the categories timing and channel."""
    on_it = [a.name for a in ATTACKS if a.attack in {"timing", "channel"} and on_the_executor(a)]
    assert len(on_it) >= LEAST_ON_TIME, on_it


def snake_case(name: str) -> str:
    """The name in wire.h: of kCopyOut it is copy_out."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("k")).lower()


def test_the_attacks_speak_the_executor_s_protocol() -> None:
    """Numbers of calls and commands, magic and version as in wire.h: with others the attacks would do nothing."""
    wire = (ROOT / "grader/judge/executor/wire.h").read_text(encoding="utf-8")
    commands = (ROOT / "grader/judge/executor/judge_commands.h").read_text(encoding="utf-8")
    attack = (COMMON / "executor_ring.cuh").read_text(encoding="utf-8")
    calls = re.findall(r"^\s*X\((\w+), \d", wire, re.MULTILINE)
    restated = re.findall(r"(k\w+) = (\d+)", attack.split("enum Call", 1)[1].split("}", 1)[0])
    assert len(restated) >= 8
    for name, number in restated:
        assert calls[int(number)] == snake_case(name), (name, number)
    theirs = re.findall(r"^  (k\w+)", commands.split("enum class HostCommand", 1)[1].split("}", 1)[0], re.MULTILINE)
    ours = re.findall(r"k\w+", attack.split("enum HostCommand", 1)[1].split("}", 1)[0])
    assert ours == theirs
    magic = re.search(r"kMagic = 0x([\w']+);", wire)
    version = re.search(r"kVersion = (\d+);", wire)
    assert magic is not None
    assert version is not None
    assert f"kMagic = 0x{magic[1].replace(chr(39), '')};" in attack
    assert f"kVersion = {version[1]};" in attack
