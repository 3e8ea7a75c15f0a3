"""SciPy reads what the room writes, and the room reads what SciPy writes."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import DataTool

np = pytest.importorskip("numpy", reason="numpy is not installed")
sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
scipy_io = pytest.importorskip("scipy.io", reason="scipy is not installed")

SEEDS = range(12)


def random_matrix(seed: int, value_type: str = "float64") -> Any:
    """Up to 60 x 60, about a tenth full, values that fp32 holds exactly."""
    random = np.random.default_rng(seed)
    rows, cols = random.integers(1, 60, size=2)
    matrix = sparse.random(rows, cols, density=0.1, random_state=random, format="csr")
    matrix.data = random.integers(1, 1000, size=matrix.nnz).astype(value_type)
    return matrix


def assert_same(got: Any, want: Any) -> None:
    got.check_format(full_check=True)
    assert got.shape == want.shape
    assert got.nnz == want.nnz
    assert (got != want).nnz == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("value_type", ["float64", "float32", "int32", "int64"])
def test_scipys_archives_come_back(
    tool: DataTool, tmp_path: Path, seed: int, compressed: bool, value_type: str
) -> None:
    want = random_matrix(seed, value_type)
    sparse.save_npz(tmp_path / "theirs.npz", want, compressed=compressed)
    got = sparse.load_npz(tool.import_file(tmp_path / "theirs.npz", tmp_path / "ours.npz"))
    assert got.data.dtype == np.float32
    assert got.indices.dtype == np.int32
    assert_same(got, want.astype("float32"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_scipys_matrix_market_files_come_back(tool: DataTool, tmp_path: Path, seed: int, field: str) -> None:
    want = random_matrix(seed, "int64" if field == "integer" else "float64")
    scipy_io.mmwrite(tmp_path / "theirs.mtx", want.tocoo(), field=field, symmetry="general")
    if field == "pattern":
        want.data[:] = 1
    got = sparse.load_npz(tool.import_file(tmp_path / "theirs.mtx", tmp_path / "ours.npz"))
    assert_same(got, want.astype("float32"))


@pytest.mark.parametrize("seed", SEEDS)
def test_scipys_symmetric_files_come_back_whole(tool: DataTool, tmp_path: Path, seed: int) -> None:
    half = random_matrix(seed)
    half.resize((60, 60))
    want = (half + half.T).tocsr()
    scipy_io.mmwrite(tmp_path / "theirs.mtx", want.tocoo(), symmetry="symmetric")
    got = sparse.load_npz(tool.import_file(tmp_path / "theirs.mtx", tmp_path / "ours.npz"))
    assert_same(got, want.astype("float32"))


def test_64_bit_indices_and_unsorted_rows_are_converted(tool: DataTool, tmp_path: Path) -> None:
    want = random_matrix(3)
    np.savez(
        tmp_path / "theirs.npz",
        data=want.data[::-1].copy(),
        indices=want.indices[::-1].astype("int64"),
        indptr=(want.nnz - want.indptr[::-1]).astype("int64"),
        shape=np.array(want.shape),
        format=np.array(b"csr"),
    )
    got = sparse.load_npz(tool.import_file(tmp_path / "theirs.npz", tmp_path / "ours.npz"))
    assert got.has_sorted_indices
    assert_same(got, want[::-1].tocsr().astype("float32"))


def test_archives_are_stored_aligned_and_intact(tool: DataTool, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "theirs.npz", random_matrix(1))
    ours = tool.import_file(tmp_path / "theirs.npz", tmp_path / "ours.npz")
    with zipfile.ZipFile(ours) as archive:
        assert archive.testzip() is None
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert "warpgrade.json" in archive.namelist()
    for name, array in np.load(ours).items():
        if name in {"indices", "indptr", "data"}:
            assert ours.read_bytes().find(array.tobytes()) % 64 == 0, name


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("layout", ["csc", "coo"])
def test_other_sparse_layouts_come_back_as_csr(tool: DataTool, tmp_path: Path, seed: int, layout: str) -> None:
    want = random_matrix(seed)
    sparse.save_npz(tmp_path / "theirs.npz", want.asformat(layout), compressed=seed % 2 == 0)
    got = sparse.load_npz(tool.import_file(tmp_path / "theirs.npz", tmp_path / "ours.npz"))
    assert_same(got, want.astype("float32"))


@pytest.mark.parametrize("layout", ["bsr", "dia"])
def test_other_layouts_are_refused_by_name(tool: DataTool, tmp_path: Path, layout: str) -> None:
    sparse.save_npz(tmp_path / "theirs.npz", random_matrix(1).asformat(layout))
    done = tool.run("import", tmp_path / "theirs.npz", "--output", tmp_path / "ours.npz")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "theirs.npz" in done.stderr
    assert not (tmp_path / "ours.npz").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_values_that_are_not_finite_in_fp32_are_refused(tool: DataTool, tmp_path: Path, value: float) -> None:
    bad = random_matrix(1)
    bad.data[2] = value
    sparse.save_npz(tmp_path / "theirs.npz", bad)
    done = tool.run("import", tmp_path / "theirs.npz", "--output", tmp_path / "ours.npz")
    assert done.returncode == 1
    assert "entry 2" in done.stderr
    assert "finite" in done.stderr


@pytest.mark.parametrize("column", [-1, 60, 1 << 40])
def test_columns_out_of_range_are_refused(tool: DataTool, tmp_path: Path, column: int) -> None:
    indices = np.array([0, column], dtype="int64")
    np.savez(tmp_path / "bad.npz", data=np.ones(2), indices=indices, indptr=np.array([0, 2]),
             shape=np.array([1, 60]), format=np.array(b"csr"))  # fmt: skip
    done = tool.run("import", tmp_path / "bad.npz", "--output", tmp_path / "ours.npz")
    assert done.returncode == 1
    assert f"column {column}" in done.stderr


def test_opening_a_foreign_archive_says_to_import_it(tool: DataTool, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "theirs.npz", random_matrix(1), compressed=True)
    done = tool.run("info", tmp_path / "theirs.npz")
    assert done.returncode == 1
    assert "warpgrade data import" in done.stderr


@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 4)])
def test_matrices_without_entries_come_back(tool: DataTool, tmp_path: Path, shape: tuple[int, int]) -> None:
    (tmp_path / "empty.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{shape[0]} {shape[1]} 0\n")
    got = sparse.load_npz(tool.import_file(tmp_path / "empty.mtx", tmp_path / "ours.npz"))
    assert got.shape == shape
    assert got.nnz == 0
