"""The cache as people and jobs share it: imports at once, damage, limits, read-only shares, archives."""

import fcntl
import gzip
import io
import os
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
from conftest import CATALOG, DataTool

MARKET = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"


def age(cache: Path, seconds: float = 3600) -> None:
    """Makes everything look as if it was used long ago."""
    then = time.time() - seconds
    for path in [*cache.glob("used/*"), *cache.glob("objects/*/*")]:
        os.utime(path, (then, then))


def test_two_jobs_that_import_one_file_at_once_store_it_once(tool: DataTool, tmp_path: Path) -> None:
    lines = "".join(f"{i} {(i * 31) % 20000}\n" for i in range(20000))
    (tmp_path / "g.txt").write_text(lines)
    command = [str(tool.binary), "--catalog", "datasets/none.yaml", "--cache", str(tool.cache), "data", "import"]
    jobs = [subprocess.Popen([*command, str(tmp_path / "g.txt")], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {job.communicate(timeout=120)[0] for job in jobs}
    assert all(job.returncode == 0 for job in jobs)
    assert len(outputs) == 1
    assert len(list(tool.cache.glob("objects/*/*.npz"))) == 1
    assert not list(tool.cache.rglob("*.tmp-*"))
    assert tool.run("verify").returncode == 0


def test_equal_content_is_stored_once_under_two_names(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "g.mtx").write_text(MARKET)
    assert tool.run("import", tmp_path / "g.mtx", "--name", "one").returncode == 0
    assert tool.run("import", tmp_path / "g.mtx", "--name", "two").returncode == 0
    assert len(list(tool.cache.glob("objects/*/*.npz"))) == 1
    assert "one, two" in tool.run("cache").stdout


def test_damage_is_found_on_the_next_use_and_by_verify(tool: DataTool) -> None:
    assert tool.run("info", "synth-hub").returncode == 0
    (path,) = tool.cache.glob("objects/*/*.npz")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert tool.run("info", "synth-hub").returncode == 1
    bad = tool.run("verify")
    assert bad.returncode == 1
    assert "DAMAGED" in bad.stdout
    assert tool.run("verify", "--remove").returncode == 0
    assert tool.run("info", "synth-hub").returncode == 0
    assert "1 good, 0 damaged" in tool.run("verify", "synth-hub").stdout


def test_the_limit_removes_what_was_used_longest_ago(tool: DataTool) -> None:
    for name in ["synth-hub", "synth-uniform", "synth-ragged"]:
        tool.run("info", name)
        age(tool.cache)
    tool.run("info", "synth-uniform")
    done = tool.run("cache", "--limit", "0")
    assert done.returncode == 0, done.stderr
    assert "removed synth-hub" in done.stdout
    assert [path.name.split(".")[0] for path in tool.cache.glob("*.npz")] == ["synth-uniform"]
    assert "asked for in the last ten minutes" in done.stdout


def test_files_in_use_are_never_removed(tool: DataTool) -> None:
    tool.run("info", "synth-hub")
    age(tool.cache)
    (path,) = tool.cache.glob("objects/*/*.npz")
    with path.open("rb") as held:  # as CsrFile holds what it maps
        fcntl.flock(held, fcntl.LOCK_SH)
        assert "(in use)" in tool.run("cache").stdout
        tool.run("cache", "--limit", "0")
        assert path.exists()
    tool.run("cache", "--limit", "0")
    assert not path.exists()
    assert not list(tool.cache.glob("*.npz"))


def test_a_limit_that_is_no_size_is_refused(tool: DataTool) -> None:
    for text in ["much", "-1G", "5X", "G"]:
        assert tool.run("cache", f"--limit={text}").returncode == 1


def test_a_shared_read_only_cache_is_read_before_anything_is_made(
    tool: DataTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool.run("info", "synth-hub")
    mine = DataTool(tool.binary, tmp_path / "mine")
    monkeypatch.setenv("WARPGRADE_SHARED_DATASETS", f"/nonexistent:{tool.cache}")
    done = mine.run("info", "synth-hub")
    assert f"{tool.cache}/synth-hub" in done.stdout
    assert not list(mine.cache.glob("*.npz"))


def test_downloads_that_broke_off_are_counted_and_go_after_a_day(tool: DataTool) -> None:
    for name in ("old", "new"):
        part = tool.cache / "downloads" / name / "g.zip.part"
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x" * 4096)
    assert "8.0 KB  of downloads that are not done" in tool.run("cache").stdout
    then = time.time() - 90000
    for path in (tool.cache / "downloads/old/g.zip.part", tool.cache / "downloads/old"):
        os.utime(path, (then, then))
    done = tool.run("cache", "--limit", "1G")
    assert done.returncode == 0, done.stderr
    assert "removed downloads that broke off (4.0 KB)" in done.stdout
    assert [path.name for path in (tool.cache / "downloads").iterdir()] == ["new"]


def test_verify_finds_names_in_shared_caches_and_misses_none(
    tool: DataTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool.run("info", "synth-hub")
    mine = DataTool(tool.binary, tmp_path / "mine")
    mine.run("info", "synth-uniform")
    assert mine.run("verify", "synth-uniform", "synth-hub").returncode == 1
    monkeypatch.setenv("WARPGRADE_SHARED_DATASETS", str(tool.cache))
    done = mine.run("verify", "synth-uniform", "synth-hub")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("1 good, 0 damaged") == 2
    (path,) = tool.cache.glob("objects/*/*.npz")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    done = mine.run("verify", "synth-hub")
    assert done.returncode == 1
    assert "DAMAGED  synth-hub" in done.stdout


def test_what_can_not_be_removed_is_not_called_removed(tool: DataTool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        theirs = DataTool(tool.binary, Path(folder) / "cache")
        theirs.run("info", "synth-hub")
        age(theirs.cache)
        for path in [theirs.cache, *theirs.cache.rglob("*")]:
            if path.is_dir():
                path.chmod(0o555)
        command = [str(tool.binary), "--catalog", str(CATALOG), "--cache", str(theirs.cache), "data", "cache"]
        if os.geteuid() == 0:  # whom no mode stops
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        done = subprocess.run([*command, "--limit", "0"], capture_output=True, text=True, check=False, timeout=60)
        for path in [theirs.cache, *theirs.cache.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        assert done.returncode == 1
        assert "cannot remove" in done.stderr
        assert "removed" not in done.stdout
        assert len(list(theirs.cache.glob("*.npz"))) == 1


def test_import_names_are_the_catalogues_and_aliases_work(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "g.mtx").write_text(MARKET)
    refused = tool.run("import", tmp_path / "g.mtx", "--name", "arxiv")
    assert refused.returncode == 1
    assert "arxiv@original" in refused.stderr
    counts = tool.run("import", tmp_path / "g.mtx", "--name", "am@original", "--format", "matrix-market")
    assert counts.returncode == 1
    assert "881680" in counts.stderr
    alias = tool.run("import", tmp_path / "g.mtx", "--name", "am-rdf@original", "--format", "matrix-market")
    assert "am@original: expected 881680" in alias.stderr
    for name in (
        "reddit",
        "synth-hub",
        "arxiv.powerlaw-1",
        "arxiv@v2.standin-2",
        "arxiv@0.5",
        "com-DBLP",
        "wordnet",
        "../g",
    ):
        refused = tool.run("import", tmp_path / "g.mtx", "--name", name)
        assert refused.returncode == 1, name
        assert refused.stderr.startswith("error: ")
    for name in ("cora.mtx", "ogbn-arxiv.mtx"):  # named by the file alone
        (tmp_path / name).write_text(MARKET)
        refused = tool.run("import", tmp_path / name)
        assert refused.returncode == 1, name
        assert "another" in refused.stderr
    assert not list(tool.cache.glob("*.npz"))
    (tmp_path / "wordnet-3.0.mtx").write_text(MARKET)  # wordnet itself is made from a package
    assert tool.run("import", tmp_path / "wordnet-3.0.mtx").returncode == 0
    assert "3 x 3, 4 entries" in tool.run("info", "wordnet-3.0-file").stdout
    assert len(list(tool.cache.glob("*.npz"))) == 1
    assert "arxiv: stand-in" in tool.run("info", "--catalogue", "ogbn-arxiv").stdout


def tar_of(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def test_suitesparses_archives_are_read(tool: DataTool, tmp_path: Path) -> None:
    files = {"ash/ash.mtx": MARKET, "ash/ash_b.mtx": "%%MatrixMarket matrix array real general\n1 1\n1\n"}
    (tmp_path / "ash.tar.gz").write_bytes(tar_of(files))
    done = tool.run("import", tmp_path / "ash.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "3 x 3, 4 entries" in done.stdout
    named = tool.run("import", tmp_path / "ash.tar.gz", "--member", "ash/ash_b.mtx")
    assert named.returncode == 1
    assert "ash.tar.gz:ash/ash_b.mtx:1: expected a sparse matrix" in named.stderr


@pytest.mark.parametrize("options", [[], ["--format", "matrix-market", "--member", "g/g.mtx"]])
def test_a_damaged_tar_gz_is_refused_though_its_text_makes_sense(
    tool: DataTool, tmp_path: Path, options: list[str]
) -> None:
    """The checksum of a gzip stands at its end, behind the archive's own."""
    stored = bytearray(gzip.compress(gzip.decompress(tar_of({"g/g.mtx": MARKET})), compresslevel=0))
    at = stored.index(b"\n2 1\n") + 1
    stored[at : at + 1] = b"3"
    (tmp_path / "g.tar.gz").write_bytes(stored)
    done = tool.run("import", tmp_path / "g.tar.gz", *options)
    assert done.returncode == 1
    assert "incorrect data check" in done.stderr


def test_long_names_in_tar_are_read(tool: DataTool, tmp_path: Path) -> None:
    folder = "a" * 150
    (tmp_path / "g.tar.gz").write_bytes(tar_of({f"{folder}/{folder}.mtx": MARKET}))
    assert tool.run("import", tmp_path / "g.tar.gz").returncode == 0


@pytest.mark.parametrize("name", ["../../g.mtx", "/etc/g.mtx", "a/../../g.mtx", "a\\..\\g.mtx"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_out_of_an_archive_are_refused(tool: DataTool, tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / f"g.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, MARKET)
    else:
        path.write_bytes(tar_of({name: MARKET}))
    done = tool.run("import", path)
    assert done.returncode == 1
    assert "leads out of the archive" in done.stderr
    assert not (tmp_path.parent / "g.mtx").exists()


def test_bombs_are_refused(tool: DataTool, tmp_path: Path) -> None:
    member = gzip.compress(b"\n" * (16 << 20))
    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(b"0 1\n") + member * 19)
    done = tool.run("import", tmp_path / "g.txt.gz")
    assert done.returncode == 1
    assert "300 times its size" in done.stderr
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("indptr.npy", b"0" * 100000)
    lying = bytearray(out.getvalue())
    at = lying.rfind(b"PK\1\2")
    lying[at + 24 : at + 28] = (1 << 31).to_bytes(4, "little")
    (tmp_path / "lie.npz").write_bytes(lying)
    done = tool.run("import", tmp_path / "lie.npz")
    assert done.returncode == 1
    assert "byte" in done.stderr


def test_archives_that_hold_nothing_say_so(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "g.tar.gz").write_bytes(tar_of({}))
    with zipfile.ZipFile(tmp_path / "g.zip", "w"):
        pass
    for name in ("g.tar.gz", "g.zip"):
        done = tool.run("import", tmp_path / name)
        assert done.returncode == 1
        assert "it holds no file" in done.stderr


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zips_of_two_meanings_or_with_a_password_are_refused(tool: DataTool, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("g.mtx", MARKET)
        archive.writestr("g.mtx", MARKET.replace("1 2", "2 1"))
    done = tool.run("import", tmp_path / "twice.zip", "--member", "g.mtx")
    assert done.returncode == 1
    assert "a second member is named g.mtx" in done.stderr
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as archive:
        archive.writestr("g.mtx", MARKET)
    locked = bytearray((tmp_path / "locked.zip").read_bytes())
    locked[locked.rfind(b"PK\1\2") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    done = tool.run("import", tmp_path / "locked.zip")
    assert done.returncode == 1
    assert "g.mtx is encrypted" in done.stderr


def test_names_in_archives_reach_no_terminal_as_commands(tool: DataTool, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as archive:
        archive.writestr("x\x1b[2J.npy", b"x")
    raw = bytearray((tmp_path / "g.npz").read_bytes())
    raw[raw.rfind(b"PK\1\2") + 10] = 12  # a compression that is not read: the error names the member
    (tmp_path / "g.npz").write_bytes(raw)
    done = tool.run("import", tmp_path / "g.npz")
    assert done.returncode == 1
    assert "x?[2J.npy" in done.stderr


def test_dgls_zip_of_a_scipy_archive_is_read(tool: DataTool, tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    inner = io.BytesIO()
    sparse.save_npz(inner, sparse.coo_matrix(([1.0, 2.0], ([0, 2], [1, 0])), shape=(3, 3)))
    with zipfile.ZipFile(tmp_path / "rd.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("reddit_data.npz", b"features")
        archive.writestr("reddit_graph.npz", inner.getvalue())
    done = tool.run("import", tmp_path / "rd.zip")
    assert done.returncode == 0, done.stderr
    assert "3 x 3, 2 entries" in done.stdout
