"""`data synth`, `data stats` and `data fit` as a person runs them, and a GPU's bytes beside the cores'."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import CATALOG, DataTool

EMULATOR = os.environ.get("WARPGRADE_EMULATOR_DIRECTORY", "")


def spec(n: int, nnz: int, longest: int, **others: object) -> dict[str, object]:
    """Parameters with row lengths that fall on a straight line; `others` replaces fields."""
    curve = [[0, longest], [n - 1, 0]]
    plain: dict[str, object] = {
        "generator": "standin-2",
        "n": n,
        "nnz": nnz,
        "seed": 7,
        "row_degrees": curve,
        "column_degrees": [],
        "near": [],
        "communities": [],
        "scattered": True,
        "copied": 0,
        "log2_group": 0,
        "log2_pool": 0,
        "alike": 0,
        "log2_run": 5,
    }
    return plain | others


SPECS = {
    "short rows everywhere": spec(700, 4000, 30),
    "rows beyond a block's shared memory": spec(1500, 200000, 1400),
    "nearly full rows, filled in turn": spec(40, 1590, 40, near=[0, 60000]),
    "near, communities, copies": spec(
        900,
        9000,
        90,
        near=[500, 900, 2000, 4000],
        communities=[{"log2_nodes": 4, "share": 20000}],
        copied=30000,
        log2_group=3,
        log2_pool=4,
        alike=30000,
    ),
    "columns of their own": spec(500, 3000, 60, column_degrees=[[0, 400], [10, 20], [499, 0]], scattered=False),
    "no entry": spec(50, 0, 0),
}


def test_what_the_gpu_made_is_cached_under_the_name(tool: DataTool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (tool.binary.parent / "warpgrade-synth").exists() or not list(
        Path(EMULATOR or "/none").glob("libcudart.so*")
    ):
        pytest.skip("warpgrade-synth and the emulator are not built here")
    monkeypatch.setenv("LD_LIBRARY_PATH", EMULATOR)
    done = tool.run("synth", "arxiv@v2@0.01", "--device", "gpu")
    assert done.returncode == 0, done.stderr
    assert "cached as" in done.stdout
    objects = list(tool.cache.glob("objects/*/*.npz"))
    assert len(objects) == 1
    assert not list(tool.cache.glob("downloads/*"))
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert tool.run("info", "arxiv@v2@0.01").returncode == 0
    assert list(tool.cache.glob("objects/*/*.npz")) == objects, "info made it anew"
    assert tool.run("verify").returncode == 0


@pytest.mark.parametrize("name", SPECS)
def test_the_gpu_makes_the_bytes_of_the_cores(name: str, tool: DataTool, tmp_path: Path) -> None:
    program = tool.binary.parent / "warpgrade-synth"
    if not program.exists() or not list(Path(EMULATOR or "/nowhere").glob("libcudart.so*")):
        pytest.skip("warpgrade-synth and the emulator are not built here")
    (tmp_path / "spec.json").write_text(json.dumps(SPECS[name]))
    environment = os.environ | {"LD_LIBRARY_PATH": EMULATOR}
    for file, more in (("gpu.npz", []), ("cpu.npz", ["--cpu"])):
        command: list[str | Path] = [program, tmp_path / "spec.json", tmp_path / file, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "gpu.npz").read_bytes() == (tmp_path / "cpu.npz").read_bytes()


def test_synth_writes_the_same_file_for_every_number_of_threads(tool: DataTool, tmp_path: Path) -> None:
    for threads in (1, 2, 3, 7):
        done = tool.run(
            "synth", "arxiv@0.01", "--device", "cpu", "--threads", threads, "--out", tmp_path / f"{threads}.npz"
        )
        assert done.returncode == 0, done.stderr
        assert "arxiv" not in done.stderr
        assert "1693 x 1693, 11662 entries, standin-2" in done.stdout
        assert "seconds: parameters" in done.stdout
    assert len({(tmp_path / f"{threads}.npz").read_bytes() for threads in (1, 2, 3, 7)}) == 1


def test_synth_into_the_cache_is_what_the_name_means_and_replaces_no_graph(tool: DataTool) -> None:
    for arguments, name in ((["arxiv@0.01"], "arxiv@v2@0.01"), (["arxiv@0.01", "--family", "powerlaw"], "arxiv@0.01")):
        done = tool.run("synth", *arguments, "--device", "cpu")
        assert done.returncode == 0, done.stderr
        objects = set(tool.cache.glob("objects/*/*.npz"))
        assert tool.run("info", name).returncode == 0
        assert set(tool.cache.glob("objects/*/*.npz")) == objects, "info made it anew"
    assert tool.run("synth", "arxiv@0.01", "--seed", 7, "--device", "cpu").returncode == 0
    assert (tool.cache / "arxiv@v2@0.01.seed-7.npz").exists()
    fitted = CATALOG.parent / "fits" / "cora.json"
    done = tool.run("synth", "--spec", fitted, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert not (tool.cache / "cora.npz").exists(), "cora is the graph"
    assert (tool.cache / "cora.standin.npz").exists()
    assert tool.run("verify").returncode == 0


def test_synth_still_makes_the_power_law_family(tool: DataTool, tmp_path: Path) -> None:
    done = tool.run("synth", "arxiv@0.01", "--family", "powerlaw", "--out", tmp_path / "a.npz")
    assert done.returncode == 0, done.stderr
    assert "powerlaw-1, hash 2628821039b7e96afd861a095c7ceb18" in done.stdout  # of golden_hashes.inc


def test_synth_of_bad_parameters_names_the_field_and_writes_nothing(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(json.dumps(spec(10, 101, 10)))
    done = tool.run("synth", "--spec", tmp_path / "bad.json", "--out", tmp_path / "a.npz")
    assert done.returncode == 1
    assert "bad.json: a stand-in of 10 rows and 101 entries is not possible" in done.stderr
    assert not (tmp_path / "a.npz").exists()
    assert tool.run("synth").returncode == 1


def test_stats_of_two_stand_side_by_side_and_as_json(tool: DataTool) -> None:
    done = tool.run("stats", "collab@0.01", "collab@v2@0.01")
    assert done.returncode == 0, done.stderr
    assert "reuse histograms lie" in done.stdout
    lines = tool.run("stats", "collab@0.01", "collab@v2@0.01", "--json").stdout.splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first["nnz"] == second["nnz"] == 23581
    assert second["community"] > first["community"] + 0.1


def test_plot_draws_matrices_side_by_side_and_says_what_it_could_not_read(tool: DataTool, tmp_path: Path) -> None:
    done = tool.run("plot", "collab@0.01", "collab@v2@0.01", "--out", tmp_path / "figure.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert tool.run("plot", "no-such-graph", "--out", tmp_path / "other.png").returncode == 1
    nowhere = tool.run("plot", "collab@0.01", "--out", tmp_path / "nowhere" / "figure.png")
    assert nowhere.returncode == 1
    assert "figure.png" in nowhere.stderr


def test_fit_writes_parameters_that_synth_takes(tool: DataTool, tmp_path: Path) -> None:
    edges = "".join(f"{i} {(i + step) % 300}\n" for i in range(300) for step in (1, 2, 5, 17))
    (tmp_path / "ring.txt").write_text(edges)
    done = tool.run("fit", tmp_path / "ring.txt", "--output", tmp_path / "fits", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "| ring | 4 / 4 |" in done.stdout
    made = tool.run("synth", "--spec", tmp_path / "fits" / "ring.json", "--device", "cpu", "--out", tmp_path / "r.npz")
    assert "300 x 300, 1200 entries" in made.stdout
