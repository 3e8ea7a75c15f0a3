"""The corpus of submissions: what each folder promises, how it is laid out as a class, and how that class is judged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hostile
import yaml

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "submissions"
COMMON = CORPUS / "common"
TRITON = Path(os.environ.get("WARPGRADE_TRITON", ROOT / ".cache/triton"))
POLICY = CORPUS / "policy.yaml"
BACKEND = os.environ.get("WARPGRADE_TEST_BACKEND", "emulator")
USUAL_CASES = "synth-ragged-k32,synth-empty-rows-k32,synth-hub-k32,synth-uniform-k256"
CATEGORIES = ("timing", "replay", "reading", "channel", "semantics", "denial")


@dataclass(frozen=True)
class Example:
    """One folder of the corpus, or what hostile.py lays out, and what is to come of it."""

    name: str
    folder: Path | None
    verdicts: tuple[str, ...]
    reason: str | None = None
    findings: frozenset[str] = frozenset()
    cases: str = USUAL_CASES
    lab: str = "spmm"
    attack: str | None = None
    known_gap: str | None = None
    needs: str | None = None
    earned_like: str | None = None
    compared_with: tuple[str, ...] = ()
    times: str = "all"

    @property
    def missing(self) -> str | None:
        """What this machine lacks to judge it; None where nothing is missing."""
        if self.folder is not None and (self.folder / f"{self.lab}.py").exists():
            return None if (TRITON / "triton").is_dir() else "Triton is not installed: scripts/bootstrap triton"
        return None

    def lay_out(self, target: Path) -> None:
        """Copies the submission to `target`, with what it shares and what a repository cannot hold."""
        if self.folder is None:
            hostile.LAID_OUT[self.name.removeprefix("made-")].lay_out(target)
        else:
            shutil.copytree(self.folder, target)
        add_common_files(target)


def add_common_files(folder: Path) -> None:
    """Lays each file of common/ beside a source that includes or imports it."""
    for source in [*folder.glob("*.cu"), *folder.glob("*.py")]:
        if not source.is_file() or source.is_symlink():
            continue
        text = source.read_bytes()
        included = set(re.findall(rb'#include "([\w.]+)"', text))
        included |= {name + b".py" for name in re.findall(rb"^from (\w+) import", text, re.MULTILINE)}
        for shared in COMMON.iterdir():
            if shared.name.encode() in included and not (folder / shared.name).exists():
                shutil.copy(shared, folder)


def words(value: str | Iterable[str]) -> tuple[str, ...]:
    """A word or a list of words."""
    return (value,) if isinstance(value, str) else tuple(value)


def example_of(name: str, folder: Path | None, expected: dict[str, Any], backend: str) -> Example:
    """What `expected` promises on this backend."""
    expected = expected | (expected.get(backend) or {})
    cases = expected.get("cases") or USUAL_CASES
    return Example(
        name=name,
        folder=folder,
        verdicts=words(expected["verdict"]),
        reason=expected.get("reason"),
        findings=frozenset(expected.get("findings") or ()),
        cases=cases if isinstance(cases, str) else ",".join(cases),
        lab=expected.get("lab") or "spmm",
        attack=expected.get("attack"),
        known_gap=expected.get("known_gap"),
        needs=expected.get("needs"),
        earned_like=expected.get("earned_like"),
        compared_with=words(expected.get("compared_with") or ()),
        times=expected.get("times", "all"),
    )


def read_example(folder: Path, backend: str) -> Example:
    """The folder's name, refined by its expected.yaml."""
    expected: dict[str, Any] = {"verdict": folder.parent.name}
    file = folder / "expected.yaml"
    if file.exists():
        expected |= yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    return example_of(f"{folder.parent.name}-{folder.name}", folder, expected, backend)


def read_wrong_example(folder: Path, backend: str) -> Example:
    """A folder under reference/<lab>/wrong: a lab whose judge is C++ has no `labs verify`, and is proved here."""
    lab = folder.parents[1].name
    file = folder / "expected.yaml"
    expected = {"lab": lab, "verdict": "wrong_answer"} | yaml.safe_load(file.read_text(encoding="utf-8"))
    return example_of(f"{expected['verdict']}-{lab}_{folder.name}", folder, expected, backend)


def read_corpus(backend: str = BACKEND) -> list[Example]:
    """Every folder, the wrong solutions of labs whose judge is C++, and everything that is made by hostile.py."""
    folders = [folder for folder in sorted(CORPUS.glob("*/*")) if folder.is_dir()]
    wrong = [file.parent for file in sorted((ROOT / "reference").glob("*/wrong/*/expected.yaml"))]
    made = [
        example_of(f"made-{name}", None, thing.expected | {"attack": thing.attack}, backend)
        for name, thing in sorted(hostile.LAID_OUT.items())
    ]
    own = [read_example(folder, backend) for folder in folders]
    return own + [read_wrong_example(folder, backend) for folder in wrong] + made


def policy_for(lab: str, scratch: Path, run_s: float | None = None) -> Path:
    """The corpus's short limits as a policy of this lab; `run_s`: seconds that a run may take on the emulator."""
    policy = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    own = yaml.safe_load((ROOT / f"grader/policies/{lab}.yaml").read_text(encoding="utf-8"))
    policy |= {"lab": lab, "baseline": own["baseline"], "thresholds": own["thresholds"]}
    if run_s is not None:
        policy["limits"]["run_s"]["emulator"] = run_s
    file = scratch / "policy.yaml"
    file.write_text(yaml.safe_dump(policy), encoding="utf-8")
    return file


def grade_class(
    program: Path,
    scratch: Path,
    lab: str,
    cases: str,
    backend: str,
    timeout: float = 2400,  # a machine that judges other classes beside
    run_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Judges scratch/class into scratch/run."""
    command: list[str | Path] = [program, "grade", scratch / "class", "--lab", lab, "--run", scratch / "run"]
    command += ["--backend", backend, "--cases", cases, "--policy", policy_for(lab, scratch, run_s)]
    command += ["--no-speed"] if backend == "emulator" else ["--quiet"]
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        timeout=timeout,
        check=False,
        encoding="utf-8",
        errors="replace",
    )


@dataclass(frozen=True)
class Judged:
    """What a run says of one submission."""

    verdict: str
    reasons: frozenset[str]
    shown: tuple[tuple[str, str, str], ...]  # case, verdict, message


def read_judged(run: Path) -> dict[str, Judged]:
    """Every submission of a run: its worst verdict, the reasons of the cases that have it, all cases."""
    records = [json.loads(line) for line in (run / "records.jsonl").read_text(encoding="utf-8").strip().split("\n")]
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    judged = {}
    for score in scores["submissions"]:
        own = [record for record in records if record["submission"]["id"] == score["id"]]
        outcomes = [(record["case"]["id"], record["outcome"]) for record in own]
        judged[score["id"]] = Judged(
            verdict=score["verdict"],
            reasons=frozenset(o.get("reason") or "" for _, o in outcomes if o["verdict"] == score["verdict"]),
            shown=tuple((case, o["verdict"], o.get("message", "")) for case, o in outcomes),
        )
    return judged


def box_of_this_machine(program: Path) -> str | None:
    """None where a cgroup holds what runs, as `warpgrade doctor --json` tells; otherwise what is missing."""
    done = subprocess.run([str(program), "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False)
    try:
        findings = json.loads(done.stdout)["findings"]
        cgroup = next(finding for finding in findings if finding["topic"] == "cgroup")
    except (ValueError, KeyError, StopIteration):
        return "warpgrade doctor tells of no cgroup"
    return None if cgroup["state"] == "ok" else f"cgroup {cgroup['state']}: {cgroup['found']}"
