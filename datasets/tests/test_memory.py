"""Importing takes at most 1.3 times the memory of its result (8 bytes an entry, 4 a row), whatever the file's size."""

import gzip
import subprocess
from pathlib import Path

import pytest
from conftest import DataTool

np = pytest.importorskip("numpy", reason="numpy is not installed")

NODES = 200_000
ENTRIES = 4_000_000


def peak_bytes(tool: DataTool, *arguments: object) -> int:
    done = subprocess.run(
        [str(word) for word in [tool.binary, "--catalog", "none", "--cache", tool.cache, "data", *arguments]],
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
        env={"WARPGRADE_PRINT_PEAK": "1"},
    )
    assert done.returncode == 0, done.stderr
    return 1024 * int(done.stderr.split("peak")[1])


@pytest.fixture
def baseline(tool: DataTool, tmp_path: Path) -> int:
    """What the program itself takes: its code, libraries and buffers."""
    (tmp_path / "tiny.txt").write_text("0 1\n")
    return peak_bytes(tool, "import", tmp_path / "tiny.txt", "--output", tmp_path / "tiny.npz")


def assert_lean(tool: DataTool, baseline: int, source: Path, output: Path, *options: object) -> None:
    peak = peak_bytes(tool, "import", source, "--output", output, *options) - baseline
    result = 8 * ENTRIES + 4 * NODES
    assert peak <= 1.3 * result, f"{peak / result:.2f} times the result"


def test_gzipped_edge_lists_in_any_order(tool: DataTool, baseline: int, tmp_path: Path) -> None:
    i = np.arange(ENTRIES)
    rows, columns = i * 7919 % NODES, (i * 104729 + i // NODES) % NODES  # distinct, each row 20 times
    text = "".join(f"{a}\t{b}\n" for a, b in zip(rows.tolist(), columns.tolist(), strict=True))
    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(f"# Edges: {ENTRIES}\n{text}".encode(), compresslevel=1))
    del text
    assert_lean(tool, baseline, tmp_path / "g.txt.gz", tmp_path / "g.npz", "--keep-duplicates")


@pytest.mark.parametrize("index_type", ["int32", "int64"])
@pytest.mark.parametrize("compressed", [False, True])
def test_scipys_archives(tool: DataTool, baseline: int, tmp_path: Path, index_type: str, compressed: bool) -> None:
    i = np.arange(ENTRIES)
    save = np.savez_compressed if compressed else np.savez
    save(
        tmp_path / "g.npz",
        indptr=(np.arange(NODES + 1) * (ENTRIES // NODES)).astype(index_type),
        indices=(i * 7 % NODES).astype(index_type),
        data=np.ones(ENTRIES, "float64" if index_type == "int64" else "float32"),
        shape=np.array([NODES, NODES]),
        format=np.array(b"csr"),
    )
    assert_lean(tool, baseline, tmp_path / "g.npz", tmp_path / "ours.npz")


def test_scipys_coordinate_archives(tool: DataTool, baseline: int, tmp_path: Path) -> None:
    i = np.arange(ENTRIES)
    np.savez(
        tmp_path / "g.npz",
        row=(i * 7919 % NODES).astype("int32"),
        col=(i * 31 % NODES).astype("int32"),
        data=np.ones(ENTRIES, "float32"),
        shape=np.array([NODES, NODES]),
        format=np.array(b"coo"),
    )
    assert_lean(tool, baseline, tmp_path / "g.npz", tmp_path / "ours.npz")
