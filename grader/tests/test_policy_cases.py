"""A policy adds cases: on a graph that the course has imported, with parameters of a declared lab."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import ROOT, Words, records_of, warpgrade

NODES = 40
EMULATOR = ("--backend", "emulator")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    """The environment in which there is a graph `our-crawl`, and what importing it said."""
    folder = tmp_path_factory.mktemp("datasets")
    edges = "\n".join(f"{node + 1} {(node * 7 + step) % NODES + 1}" for node in range(NODES) for step in (1, 2, 5))
    head = "%%MatrixMarket matrix coordinate pattern general"
    (folder / "crawl.mtx").write_text(f"{head}\n{NODES} {NODES} {3 * NODES}\n{edges}\n", encoding="utf-8")
    cache = {**os.environ, "WARPGRADE_CACHE": str(folder / "cache")}
    done = warpgrade("data", "import", folder / "crawl.mtx", "--name", "our-crawl", env=cache)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "WARPGRADE_SHARED_DATASETS": str(folder / "cache/datasets")}, done.stdout


def policy_of(lab: str, folder: Path, more: str) -> Path:
    """The lab's policy with more behind it, but without its thresholds."""
    text = (ROOT / f"grader/policies/{lab}.yaml").read_text(encoding="utf-8")
    file = folder / f"{lab}.yaml"
    file.write_text(text[: text.index("\nthresholds:") + 1] + more, encoding="utf-8")
    return file


OWN = """cases:
  - {graph: our-crawl, k: [32, 64], set: public, why: our own crawl}
  - {graph: our-crawl, k: 256, kind: speed, set: real}
thresholds:
  our-crawl: {256: 1.5}
"""


def test_import_prints_the_lines_to_paste(imported: tuple[dict[str, str], str], tmp_path: Path) -> None:
    environment, said = imported
    for lab in ("spmm", "apsp", "sampling", "gcn"):
        (line,) = (line for line in said.splitlines() if line.endswith(f"# lab {lab}"))
        policy = policy_of(lab, tmp_path, f"cases:\n{line}\n")
        checked = warpgrade("policy", "check", policy, env=environment)
        assert checked.returncode == 0, checked.stderr
        assert "our-crawl" in warpgrade("labs", lab, "--policy", policy, env=environment).stdout


def test_a_class_is_judged_on_an_imported_graph(imported: tuple[dict[str, str], str], tmp_path: Path) -> None:
    policy, run = policy_of("spmm", tmp_path, OWN), tmp_path / "run"
    arguments: Words = ["--lab", "spmm", *EMULATOR, "--policy", policy, "--cases", "our-crawl", "--run", run, "--quiet"]
    done = warpgrade("grade", ROOT / "reference/spmm/naive", *arguments, env=imported[0])
    assert done.returncode == 0, done.stderr
    records = {record["case"]["id"]: record for record in records_of(run)}
    assert sorted(records) == ["our-crawl-k256", "our-crawl-k32", "our-crawl-k64"]
    for record in records.values():
        assert record["outcome"]["verdict"] == "accepted", record["outcome"]
        assert (record["case"]["rows"], record["case"]["dataset_kind"]) == (NODES, "real")
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert all(case["input_hash"] == records[case["id"]]["case"]["dataset_hash"] for case in described["cases"])
    # Neither the graph nor the policy's file is needed any more.
    policy.unlink()
    assert warpgrade("score", run).returncode == 0
    scored = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert [case["verdict"] for case in scored["submissions"][0]["cases"]] == ["accepted"] * 3
    # A policy of today that adds none may speak of the run's cases.
    later = policy_of("spmm", tmp_path, "thresholds: {our-crawl-k256: 2}\n")
    rescored = warpgrade("score", run, "--policy", later)
    assert rescored.returncode == 0, rescored.stderr


def test_students_run_the_public_ones(imported: tuple[dict[str, str], str], tmp_path: Path) -> None:
    policy = policy_of("spmm", tmp_path, OWN)
    arguments: Words = ["test", "spmm", "--policy", policy, "--case", "our-crawl*", *EMULATOR]
    done = warpgrade(*arguments, env=imported[0])  # the stub: not_implemented is told of each case
    assert done.returncode == 0, done.stdout + done.stderr
    public = warpgrade("policy", "public-cases", policy, "--datasets", tmp_path / "own", env=imported[0])
    assert "our-crawl" in public.stdout and "speed" not in public.stdout
    assert (tmp_path / "own/our-crawl.npz").is_file()


def test_a_declared_lab_gets_other_parameters(tmp_path: Path) -> None:
    policy = policy_of(
        "scan", tmp_path, "cases: [{id: own-size, n: 4099, kind: speed, set: real}]\nthresholds: {own-size: 1}\n"
    )
    run = tmp_path / "run"
    arguments: Words = ["--lab", "scan", *EMULATOR, "--policy", policy, "--cases", "own-size", "--run", run, "--quiet"]
    done = warpgrade("grade", ROOT / "reference/scan/naive", *arguments)
    assert done.returncode == 0, done.stderr
    (record,) = records_of(run)
    assert record["outcome"]["verdict"] == "accepted", record["outcome"]
    assert record["case"]["parameters"] == {"n": 4099}


@pytest.mark.parametrize(
    ("lab", "more", "told"),
    [
        (
            "spmm",
            "cases: [{graph: no-such-graph, k: 32}]",
            "this machine has no dataset no-such-graph; import it with `warpgrade",
        ),
        ("spmm", "cases: [{graph: our-crawl, k: 33}]", "cases[0].k: K is a multiple of 32, and 33 is not"),
        ("gcn", "cases: [{operator: xw, graph: our-crawl, vertices: 9}]", "cases[0].vertices: expected 40"),
        ("scan", "cases: [{id: odd, m: 3}]", "unknown key cases[0].m"),
        ("scan", "cases: [{id: odd}]", "cases[0].n: expected a whole number"),
    ],
)
def test_a_mistake_names_file_line_and_key(
    lab: str, more: str, told: str, imported: tuple[dict[str, str], str], tmp_path: Path
) -> None:
    policy = policy_of(lab, tmp_path, more + "\n")
    line = policy.read_text(encoding="utf-8").count("\n")
    for command in (("policy", "check", policy), ("grade", ROOT, "--lab", lab, *EMULATOR, "--policy", policy)):
        done = warpgrade(*command, "--run", tmp_path / "run", env=imported[0]) if command[0] == "grade" else None
        done = done or warpgrade(*command, env=imported[0])
        assert done.returncode == 1
        assert f"{policy}:{line}: " in done.stderr and told in done.stderr, done.stderr
