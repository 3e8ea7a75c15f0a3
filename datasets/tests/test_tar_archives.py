"""Tar archives in the dialects that are met: what is read, and what is refused with which place."""

import gzip
import io
import os
import resource
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import CATALOG, DataTool

MARKET = "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 1\n1 2\n2 1\n3 3\n"
BLOCK = 512


def tar_of(members: list[tuple[str, str]], dialect: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=dialect) as archive:
        for name, text in members:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def with_checksum(header: bytearray) -> bytes:
    header[148:156] = b" " * 8
    header[148:155] = b"%06o\0" % sum(header)
    return bytes(header)


def refusal(tool: DataTool, path: Path, *options: object) -> str:
    done = tool.run("import", path, *options)
    assert done.returncode == 1, done.stdout
    assert str(path) in done.stderr
    return done.stderr


@pytest.mark.parametrize("dialect", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("name", ["g/g.mtx", f"{'a' * 90}/{'b' * 90}.mtx", "Straße/größe.mtx"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_every_dialect_and_name_is_read(tool: DataTool, tmp_path: Path, dialect: int, name: str, locale: str) -> None:
    (tmp_path / "g.tar").write_bytes(tar_of([(name, MARKET)], dialect))
    command: list[str | Path] = [tool.binary, "--catalog", CATALOG, "--cache", tool.cache]
    command += ["data", "import", tmp_path / "g.tar", "--member", name]
    environment = {**os.environ, "LC_ALL": locale}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert "3 x 3, 4 entries" in done.stdout


def test_sizes_in_base_256_are_read(tool: DataTool, tmp_path: Path) -> None:
    """GNU tar writes sizes beyond 8 GB so."""
    archive = bytearray(tar_of([("g.mtx", MARKET)], tarfile.GNU_FORMAT))
    header = archive[:BLOCK]
    header[124:136] = b"\x80" + len(MARKET).to_bytes(11, "big")
    archive[:BLOCK] = with_checksum(header)
    (tmp_path / "g.tar").write_bytes(archive)
    assert "4 entries" in tool.run("import", tmp_path / "g.tar").stdout


def test_an_archive_that_is_cut_off_is_refused_at_its_last_byte(tool: DataTool, tmp_path: Path) -> None:
    whole = tar_of([("g.mtx", MARKET), ("other.bin", "x" * 5000)])
    for size in (BLOCK + 20, 3 * BLOCK + 100, 2 * BLOCK + 100):
        (tmp_path / "g.tar").write_bytes(whole[:size])
        assert f"byte {size}: the archive is cut off" in refusal(tool, tmp_path / "g.tar", "--member", "g.mtx")


def test_a_damaged_header_is_named_by_its_byte(tool: DataTool, tmp_path: Path) -> None:
    archive = bytearray(tar_of([("readme.txt", "hello"), ("g.mtx", MARKET)]))
    archive[2 * BLOCK + 100] ^= 1
    for name, content in (("g.tar", archive), ("g.tar.gz", gzip.compress(archive))):
        (tmp_path / name).write_bytes(content)
        assert f"byte {2 * BLOCK}: expected a tar header" in refusal(tool, tmp_path / name)


def test_a_size_below_zero_is_refused(tool: DataTool, tmp_path: Path) -> None:
    archive = bytearray(tar_of([("g.mtx", MARKET)], tarfile.GNU_FORMAT))
    header = archive[:BLOCK]
    header[124:136] = b"\xff" * 12
    archive[:BLOCK] = with_checksum(header)
    (tmp_path / "g.tar").write_bytes(archive)
    assert "byte 0: expected a tar header" in refusal(tool, tmp_path / "g.tar")


def test_two_members_of_one_name_are_refused(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "g.tar").write_bytes(tar_of([("g.mtx", MARKET), ("g.mtx", MARKET)]))
    assert "a second member is named g.mtx" in refusal(tool, tmp_path / "g.tar", "--member", "g.mtx")


def test_links_folders_and_devices_are_no_members(tool: DataTool, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        kinds = {
            "d": tarfile.DIRTYPE,
            "s.mtx": tarfile.SYMTYPE,
            "h.mtx": tarfile.LNKTYPE,
            "p.mtx": tarfile.FIFOTYPE,
            "c.mtx": tarfile.CHRTYPE,
        }
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("g.mtx")
        info.size = len(MARKET)
        archive.addfile(info, io.BytesIO(MARKET.encode()))
    (tmp_path / "g.tar").write_bytes(out.getvalue())
    assert tool.run("import", tmp_path / "g.tar").returncode == 0
    for name in kinds:
        assert f"there is no member {name}; it holds g.mtx;" in refusal(tool, tmp_path / "g.tar", "--member", name)


def test_a_member_with_holes_is_refused_and_the_others_are_read(tool: DataTool, tmp_path: Path) -> None:
    with (tmp_path / "holes.bin").open("wb") as file:
        file.truncate(1 << 24)
        file.seek(1 << 23)
        file.write(b"x")
    (tmp_path / "g.mtx").write_text(MARKET)
    command = ["tar", "--sparse", "--create", "--file", "g.tar", "holes.bin", "g.mtx"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "g.tar").stat().st_size < 1 << 20
    assert tool.run("import", tmp_path / "g.tar").returncode == 0
    options = ["--member", "holes.bin", "--format", "edge-list"]
    assert "holes.bin is stored with holes" in refusal(tool, tmp_path / "g.tar", *options)


def test_too_many_members_are_refused(tool: DataTool, tmp_path: Path) -> None:
    header = bytearray(tar_of([("g", "")], tarfile.USTAR_FORMAT)[:BLOCK])
    headers = []
    for i in range(100_001):
        header[:7] = b"%07d" % i
        headers.append(with_checksum(header))
    (tmp_path / "g.tar.gz").write_bytes(gzip.compress(b"".join(headers), compresslevel=1))
    assert "more than 100000 members" in refusal(tool, tmp_path / "g.tar.gz")


def test_an_archive_that_claims_more_than_it_has_takes_no_memory(tool: DataTool, tmp_path: Path) -> None:
    """Neither a member's claim of 7 TiB nor a pax header's of 1 GiB."""
    for name, kind, size in (("g.mtx", b"0", 7 << 40), ("g.mtx", b"x", 1 << 30), ("g.mtx", b"L", 1 << 30)):
        archive = bytearray(tar_of([(name, MARKET)], tarfile.GNU_FORMAT))
        header = archive[:BLOCK]
        header[156:157] = kind
        header[124:136] = b"\x80" + size.to_bytes(11, "big")
        archive[:BLOCK] = with_checksum(header)
        (tmp_path / "g.tar").write_bytes(archive)
        command: list[str | Path] = [tool.binary, "--catalog", CATALOG, "--cache", tool.cache]
        command += ["data", "import", tmp_path / "g.tar"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)),
        )
        assert done.returncode == 1, done.stdout
        assert "g.tar: byte" in done.stderr
