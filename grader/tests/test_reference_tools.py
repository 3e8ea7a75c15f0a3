"""The optimized solutions on sizes and inputs that the labs' cases do not reach on the emulator."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words

REFERENCE = ROOT / "reference"
REPORTS = os.environ | {"PYTHONPATH": str(ROOT / "reports")}


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


def test_spmm_is_right_for_every_width_up_to_512_and_beyond_offsets_of_32_bits(environment: dict[str, str]) -> None:
    emulator = environment["LD_LIBRARY_PATH"]
    out = run(
        ["bash", str(REFERENCE / "spmm/tools/check.sh"), str(REFERENCE / "spmm/optimized"), emulator], environment
    )
    assert ", 0 wrong cells" in out
    assert int(out.splitlines()[-1].split()[0]) > 550, out


def test_spmm_is_right_where_warps_walk_all_columns_of_rows_of_any_length(environment: dict[str, str]) -> None:
    forced = ["-DSPMM_WHOLE_ROWS=1", "-DSPMM_SEGMENT=64"]
    folder, emulator = REFERENCE / "spmm/optimized", environment["LD_LIBRARY_PATH"]
    out = run(["bash", str(REFERENCE / "spmm/tools/check.sh"), str(folder), emulator, *forced], environment)
    assert out.splitlines()[-1] == "623 cases, 0 wrong cells"


@pytest.mark.parametrize("peer", ["row_direct", "entry_split", "buffered_split", "merge_path"])
def test_spmm_s_peers_are_right_for_every_kind_of_row_and_width(environment: dict[str, str], peer: str) -> None:
    folder, emulator = REFERENCE / "spmm/peers" / peer, environment["LD_LIBRARY_PATH"]
    out = run(["bash", str(REFERENCE / "spmm/tools/check.sh"), str(folder), emulator], environment)
    assert out.splitlines()[-1] == "623 cases, 0 wrong cells"


def test_peers_and_classes_of_matrices_can_be_tried_without_a_gpu(environment: dict[str, str], tmp_path: Path) -> None:
    trial = environment | {
        "EMULATOR": environment["LD_LIBRARY_PATH"],
        "BENCH_OPTIONS": "--scale 0.003 --repetitions 1 --graphs road-like,stencil-27,chung-lu-85",
    }
    out = run(["bash", str(ROOT / "scripts/measure"), "peers", str(tmp_path), "classes"], trial)
    assert "30 cases of optimized over the fastest other" in out  # three matrices at ten widths
    assert {path.name for path in tmp_path.iterdir()} == {"classes.jsonl", "classes.md"}


def test_spmm_s_bench_refuses_what_it_cannot_measure(environment: dict[str, str], tmp_path: Path) -> None:
    bench, keep = str(REFERENCE / "spmm/tools/bench.sh"), environment | {"BENCH_KEEP": "1"}
    for options, wanted in (
        (["--classes", "x"], "want a number after --classes, got x"),
        (["--classes", "3", "--graphs", "roads"], "no graph roads; there are triangulated, diagonal-grid"),
        (["--k", "32,6.5"], "want a number after --k, got 6.5"),
    ):
        command = ["bash", bench, str(tmp_path), "naive=naive", "--", *options]
        done = subprocess.run(command, env=keep, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr


def test_a_part_of_the_peers_measurement_that_is_not_there_is_named(tmp_path: Path) -> None:
    command: Words = ["bash", ROOT / "scripts/measure", "peers", tmp_path, "clases"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no part clases; the parts are powerlaw, classes, graphs and one-column" in done.stderr


def test_every_part_of_measure_is_listed_and_explains_itself() -> None:
    measure = ROOT / "scripts/measure"
    listed = run([str(measure), "--help"], dict(os.environ))
    parts = sorted(path.name for path in (ROOT / "scripts/measuring").iterdir())
    assert sorted(re.findall(r"^([a-z-]+) {2,}", listed.partition("takes")[2], re.MULTILINE)) == parts
    for part in parts:
        assert f"scripts/measure {part}" in run([str(measure), part, "--help"], dict(os.environ))
    done = subprocess.run([measure, "clocks"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"no part 'clocks'; the parts are: {' '.join(parts)}" in done.stderr


def test_each_command_in_python_is_a_link_to_a_program_that_loads() -> None:
    links = [file for folder in ("scripts", "scripts/measuring") for file in (ROOT / folder).iterdir()]
    programs = [str(file.resolve(strict=True)) for file in links if file.is_symlink()]
    assert len(programs) >= 20
    assert {str(Path(program).parent) for program in programs} == {str(ROOT / "scripts/python")}
    load = "import runpy, sys\nfor program in sys.argv[1:]: runpy.run_path(program)"
    run([sys.executable, "-c", load, *programs], os.environ | {"PYTHONPATH": str(ROOT / "scripts/python")})


@pytest.mark.parametrize(
    "words", [["--help"], ["nothere.tar.gz"], ["README.md"], ["--emulator", "nothere"], ["scripts"]]
)
def test_a_wheel_of_what_is_no_package_is_refused_by_its_name(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/wheel", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"scripts/wheel: {words[-1]}: expected a package")


def test_apsp_in_16_bits_is_exact_at_the_edge_of_what_they_hold(environment: dict[str, str], tmp_path: Path) -> None:
    always = "-DAPSP_PACKED_FROM=1 -DAPSP_PACKED_CAPABILITY=0 -DAPSP_LARGE_FROM=1"
    bench = str(REFERENCE / "apsp/tools/bench.sh")
    out = run(["bash", bench, str(tmp_path), "check", f"packed=optimized:{always}"], environment)
    assert out.endswith("0 wrong\n")


def test_apsp_is_exact_with_every_shape_of_tiles(environment: dict[str, str], tmp_path: Path) -> None:
    bench = str(REFERENCE / "apsp/tools/bench.sh")
    flags = {"alone": "", "shared": "-DAPSP_SHARED_FROM=1", "large": "-DAPSP_LARGE_FROM=1"}
    # With its own slack a small graph's rounds are done before the next cross; without, they are interleaved.
    solvers = [f"{name}=optimized:{flag}" for name, flag in flags.items()]
    solvers += [f"{name}0=optimized:{flag} -DAPSP_SLACK=0" for name, flag in flags.items()]
    out = run(["bash", bench, str(tmp_path), "check", *solvers], environment)
    assert out.endswith("0 wrong\n")


def test_the_same_ids_are_counted_wherever_the_counters_lie(environment: dict[str, str], tmp_path: Path) -> None:
    bench = str(REFERENCE / "histogram/tools/bench.sh")
    out = run(["bash", bench, str(tmp_path), "placement", "20000", "1"], environment)
    rows = [line.split(" | ") for line in out.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows].count("| cudaMalloc of 64 MiB") == 13
    assert rows[0][0] == "| cudaMalloc of their own" and rows[-1][0] == "| sectors spread over 64 MiB"
    assert "levels: " in out and out.endswith("0 wrong\n")


def test_what_is_left_to_measure_can_be_tried_without_a_gpu(environment: dict[str, str], tmp_path: Path) -> None:
    trial = environment | {
        "QUICK": "1",
        "MINUTES": "25",
        "OUTPUT": str(tmp_path),
        "GRAPHS": "none",
        "BUILD": str(WARPGRADE.parents[1]),
    }
    del trial["LD_LIBRARY_PATH"]
    done = subprocess.run(
        [ROOT / "scripts/measure", "rest", "emulator", "synth", "permuted", "one-column", "apsp-100", "sweeps"],
        env=trial,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 not ok" in done.stdout
    assert "cora: the same" in done.stdout
    assert "4 cases, permuted / as it is" in done.stdout
    assert "2 cases of optimized: over cusparse_default" in done.stdout
    assert "3 records, 3 accepted" in done.stdout
    with tarfile.open(tmp_path / "quick/sweeps.tar.gz") as packed:
        names = packed.getnames()
    assert len([name for name in names if name.endswith("report/sweep.png")]) == 3
    assert not [name for name in names if "secret" in name]
    with tarfile.open(tmp_path / "quick/permuted.tar.gz") as packed:
        bench = packed.extractfile("permuted/bench.jsonl")
        assert bench is not None
        lines = bench.read().decode().splitlines()
    graphs = {case["graph"]: case for case in map(json.loads, lines)}
    assert graphs.keys() == {"collab", "collab.permuted", "am", "am.permuted"}
    assert graphs["am.permuted"]["nnz"] == graphs["am"]["nnz"]
    assert all(s["wrong_cells"] == 0 for case in graphs.values() for s in case["submissions"])


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs bench_tables on lines of (graph, K, submission's samples, wrong cells)."""

    def run_on(kind: str, *cases: tuple[str, int, dict[str, list[float]], int]) -> subprocess.CompletedProcess[str]:
        lines = [
            {
                "graph": graph,
                "k": k,
                "submissions": [{"name": n, "samples_ms": ms, "wrong_cells": wrong} for n, ms in samples.items()],
            }
            for graph, k, samples, wrong in cases
        ]
        bench = tmp_path / "bench.jsonl"
        bench.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        command: Words = [sys.executable, "-m", "warpgrade_bench.bench_tables", kind, bench]
        return subprocess.run(command, env=REPORTS, capture_output=True, text=True, check=False)

    return run_on


def test_the_worst_width_is_named(table: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    cases = [("g", k, {"ours": [ms, 9.0, ms]}, 0) for k, ms in ((31, 3.0), (32, 2.0), (33, 5.0), (64, 4.0), (65, 1.0))]
    done = table("widths", *cases)
    assert "| 31 | 1.50 |" in done.stdout and "| 33 | 1.25 |" in done.stdout, done.stdout + done.stderr
    assert "| 65 |" not in done.stdout  # K = 96 was not timed
    assert "2 cases of ours" in done.stdout and "at worst 1.50 (g, K = 31)" in done.stdout


def test_widths_are_compared_with_others_at_the_same_width(
    table: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    cases = [("g", k, {"theirs": [theirs], "ours": [ours]}, 0) for k, theirs, ours in ((31, 6.0, 3.0), (32, 8.0, 2.0))]
    done = table("widths", *cases)
    assert "| 31 | 1.50 (2.00×) |" in done.stdout and "| 32 | – (4.00×) |" in done.stdout, done.stdout + done.stderr
    assert "over theirs at the same K 2.83×, at least 2.00× (g, K = 31)" in done.stdout


def test_a_submission_stands_beside_the_others_by_case(
    table: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = table("beside", ("g", 1, {"theirs": [3.0], "ours": [2.0]}, 0), ("h", 1, {"theirs": [1.0], "ours": [2.0]}, 0))
    assert "| g | 1 | 3 | 2 | 1.50× |" in done.stdout and "| h | 1 | 1 | 2 | 0.50× |" in done.stdout
    assert "2 cases of ours: over theirs 0.87× (0.50 at least)." in done.stdout
    alone = table("beside", ("g", 1, {"ours": [2.0]}, 0))
    assert alone.returncode != 0 and "nothing to compare" in alone.stderr


def test_the_fastest_of_the_others_is_named_and_where_it_is_ahead(
    table: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    slow = {"a": [6.0], "b": [4.0], "ours": [2.0]}
    done = table("ahead", ("g", 32, slow, 0), ("h", 32, {**slow, "a": [1.0]}, 0), ("g", 64, slow, 0))
    assert "| g | 2, 4 b: 2.00× | 2, 4 b: 2.00× |" in done.stdout, done.stdout + done.stderr
    assert "| h | 2, 1 a: **0.50×** | – |" in done.stdout
    assert "3 cases of ours over the fastest other: 1.26×" in done.stdout
    assert "K = 32 1.00× (0.50 at least), K = 64 2.00× (2.00 at least)" in done.stdout
    assert "behind on 1: h K = 32 (0.50×, a)." in done.stdout


def test_a_table_of_a_damaged_file_names_the_line(table: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    mixed = table("beside", ("g", 1, {"theirs": [3.0], "ours": [2.0]}, 0), ("h", 1, {"ours": [2.0]}, 0))
    assert mixed.returncode == 1 and "bench.jsonl:2: expected theirs, ours" in mixed.stderr
    bench = Path(mixed.args[-1])
    bench.write_text(bench.read_text(encoding="utf-8")[:40], encoding="utf-8")
    for file, wanted in (
        (bench, "bench.jsonl:1: expected a line of"),
        (bench.parent / "none", "none: expected the lines"),
    ):
        done = subprocess.run([*mixed.args[:-1], file], env=REPORTS, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and wanted in done.stderr and "Traceback" not in done.stderr


def test_what_permuting_costs_stands_beside_what_it_costs_others(
    table: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = table(
        "permuted",
        ("g", 32, {"theirs": [1.0], "ours": [2.0]}, 0),
        ("g.permuted", 32, {"theirs": [2.0], "ours": [3.0]}, 0),
    )
    assert "| g | 32 | 1 / 2 (2.00) | 2 / 3 (1.50) |" in done.stdout, done.stdout + done.stderr
    assert "ours's ratio over the largest of the others at worst 0.75 (g, K = 32)" in done.stdout


def test_wrong_cells_and_nothing_to_compare_are_errors(
    table: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    wrong = table("widths", ("g", 31, {"ours": [1.0]}, 3), ("g", 32, {"ours": [1.0]}, 0))
    assert wrong.returncode == 1 and "wrong cells on g, K = 31: ours" in wrong.stderr
    nothing = table("permuted", ("g", 31, {"ours": [1.0]}, 0))
    assert nothing.returncode == 1 and "nothing to compare" in nothing.stderr
