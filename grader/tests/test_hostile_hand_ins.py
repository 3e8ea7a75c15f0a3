"""Folders and archives that mean no good cost their own hand-in and nothing else; all are made here, by code."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import shutil
import socket
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, records_of, warpgrade
from test_ingest import SOURCE, good, member, take, tar

NAIVE = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
RUN_IN_NAME = "$(sh p.h).cu"


def hand_in(folder: Path, name: str = "spmm.cu", text: str = NAIVE) -> Path:
    """A folder with one source."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return folder


def many_folders(folder: Path) -> None:
    """A hundred thousand entries; hard links of one file, which are quickly made."""
    hand_in(folder)
    (folder / "x0").write_text("", encoding="utf-8")
    for i in range(1, 21_000):
        os.link(folder / "x0", folder / f"x{i}")


def deep_folders(folder: Path, levels: int = 5000) -> None:
    """Deeper than a path may be long."""
    hand_in(folder)
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def socket_source(folder: Path) -> None:
    """A socket that is called a source."""
    hand_in(folder)
    here = socket.socket(socket.AF_UNIX)
    before = Path.cwd()
    try:
        os.chdir(folder)  # a socket's path is short
        here.bind("other.cu")
    finally:
        os.chdir(before)
        here.close()


def sparse(file: Path, size: int) -> Path:
    """A file that is large and takes no room."""
    with file.open("wb") as handle:
        handle.truncate(size)
    return file


def fifo(path: Path) -> Path:
    """A pipe that has a name."""
    os.mkfifo(path)
    return path


def link(path: Path, target: str) -> Path:
    """A symbolic link."""
    path.symlink_to(target)
    return path


def empty_folder(path: Path) -> Path:
    """A folder with nothing in it."""
    path.mkdir()
    return path


Maker = Callable[[Path], object]
MESSAGE = '#pragma message("{}")\n'
#: name: how it is made, the verdict, words of the message
HOSTILE: dict[str, tuple[Maker, str, str]] = {
    "shell_in_name": (
        lambda f: [hand_in(f), hand_in(f, RUN_IN_NAME), (f / "p.h").write_text("touch /tmp/escaped; echo x\n")],
        "compile_error", "the character $ in the name of a source",
    ),
    "backtick_in_name": (lambda f: hand_in(f, "`id`.cu"), "compile_error", "the character `"),
    "semicolon_in_name": (lambda f: hand_in(f, "a;touch x.cu"), "compile_error", "the character ;"),
    "quote_in_name": (lambda f: hand_in(f, 'a"b.cu'), "compile_error", 'the character "'),
    "newline_in_name": (lambda f: hand_in(f, "a\nb.cu"), "compile_error", "a line break"),
    "escape_in_name": (lambda f: hand_in(f, "\x1b[2J.cu"), "compile_error", "control character 0x1b"),
    "bytes_in_name": (lambda f: hand_in(f, "a\udcff.cu"), "compile_error", "the character"),
    "option_as_name": (lambda f: hand_in(f, "-o.cu"), "compile_error", "a minus at the beginning"),
    "response_file_as_name": (lambda f: hand_in(f, "@x.cu"), "compile_error", "the character @"),
    "long_name": (lambda f: hand_in(f, "a" * 200 + ".cu"), "compile_error", "more than 100 bytes"),
    "folder_name": (lambda f: hand_in(f / "a b", "spmm.cu"), "accepted", ""),
    "header_name": (lambda f: [hand_in(f), hand_in(f, "$(x).h")], "compile_error", "in the name of a header"),
    "fifo_source": (lambda f: [hand_in(f), fifo(f / "other.cu")], "compile_error", "not a plain file"),
    "fifo_header": (lambda f: [hand_in(f), fifo(f / "other.h")], "compile_error", "not a plain file"),
    "socket_source": (socket_source, "compile_error", "not a plain file"),
    "fifo_manifest": (lambda f: [hand_in(f), fifo(f / "submission.yaml")], "compile_error", "not a plain file"),
    "link_manifest": (
        lambda f: [hand_in(f), link(f / "submission.yaml", "/dev/zero")], "compile_error", "symbolic link"),
    "link_source": (lambda f: [hand_in(f), link(f / "o.cu", "/etc/passwd")], "compile_error", "symbolic link"),
    "folder_manifest": (
        lambda f: [hand_in(f), empty_folder(f / "submission.yaml")], "compile_error", "not a plain file"),
    "huge_manifest": (
        lambda f: [hand_in(f), sparse(f / "submission.yaml", 1 << 40)], "compile_error", "larger than 64 KiB"),
    "huge_source": (lambda f: [hand_in(f), sparse(f / "o.cu", 1 << 40)], "compile_error", "200 source files or 4 MiB"),
    "deep_manifest": (
        lambda f: [hand_in(f), (f / "submission.yaml").write_text("flags: " + "[" * 60_000)],
        "compile_error", "cannot be read"),
    "alias_manifest": (
        lambda f: [hand_in(f), (f / "submission.yaml").write_text(
            "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
                f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 8)}]\n" for i in range(12))
            + "flags: *m\n")],
        "compile_error", "not allowed"),
    "newline_flag": (
        lambda f: [hand_in(f), (f / "submission.yaml").write_text('flags: ["-DX=1\\ntouch\\t/tmp/escaped\\n"]')],
        "compile_error", "not allowed"),
    "response_file_flag": (
        lambda f: [hand_in(f), (f / "submission.yaml").write_text('flags: ["-D@/etc/passwd"]')],
        "compile_error", "not allowed"),
    "list_flag": (
        lambda f: [hand_in(f), (f / "submission.yaml").write_text('flags: ["-DX=1,-o,/tmp/escaped"]')],
        "compile_error", "not allowed"),
    "many_files": (many_folders, "compile_error", "more than 20000 files and folders"),
    "deep_folders": (deep_folders, "compile_error", "more than 32 levels deep"),
    "link_as_lab": (lambda f: [empty_folder(f), link(f / "spmm", "/etc")], "compile_error", "no source file"),
    "message_not_utf8": (
        lambda f: hand_in(f, text="#error \udcff\udcfe \x1b[2J not text\n"), "compile_error", "error: #error"),
    "forged_ptxas": (
        lambda f: hand_in(f, text="".join(MESSAGE.format(line) for line in (
            "Compiling entry function '" + "a" * 200_000, "Compiling entry function '_Z1f1XI1AS0_E" + "".join(
                f"S_IS{c}_S{c}_E" for c in "123456789ABCDEFGHIJKLMNOPQRSTU") + "' for 'sm_90'",
            "99999999999999999999999 bytes stack frame")) + "#error the end\n"),
        "compile_error", "the end"),
    "includes_device": (lambda f: hand_in(f, text='#include "/dev/zero"\n'), "compile_error", ""),
    "weak_dlopen": (
        lambda f: hand_in(f, text=NAIVE + 'extern "C" __attribute__((weak)) void* dlopen(const char*, int);\n'
                          "void* reached() { return dlopen ? dlopen(0, 1) : nullptr; }\n"),
        "compile_error", "calls dlopen"),
    "weak_object_as_function": (
        lambda f: hand_in(f, text=NAIVE + 'asm(".data\\n.weak clock_gettime\\n.type clock_gettime,@object\\n'
                          'clock_gettime: .quad 0\\n.text\\n");\n'), "accepted", ""),
    "unique_object": (
        lambda f: hand_in(f, text=NAIVE + 'asm(".data\\n.type clock_gettime,@gnu_unique_object\\n'
                          'clock_gettime: .quad 0\\n.text\\n");\n'), "accepted", ""),
    "symbol_flood": (
        lambda f: hand_in(f, text=NAIVE + 'asm(".altmacro\\n.macro one n\\n.globl zz\\\\n\\nzz\\\\n:\\n.endm\\n'
                          '.set i,0\\n.rept 1000100\\none %i\\n.set i,i+1\\n.endr\\n");\n'), "compile_error", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """One class of all hostile folders with an honest one among them, judged within limits of its own."""
    root = tmp_path_factory.mktemp("hostile")
    try:
        outcomes = judge_all(root)
    finally:
        subprocess.run(["rm", "-rf", root / "class"], check=True)  # deeper than Python's own way goes
    return outcomes, root


def judge_all(root: Path) -> dict[str, Any]:
    """The outcome of each."""
    for name, (make, _, _) in HOSTILE.items():
        make(root / "class" / name)
    hand_in(root / "class/honest")
    (root / "class/link_as_submission").symlink_to("/etc")
    (root / "policy.yaml").write_text(
        (ROOT / "grader/tests/submissions/policy.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    done = warpgrade(
        "grade", root / "class", "--run", root / "run", "--cases", "synth-identity-k32", "--backend", "emulator",
        "--policy", root / "policy.yaml", "--quiet", timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout, "a name or message reached the terminal as it is"
    return {record["submission"]["id"]: record["outcome"] for record in records_of(root / "run")}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_costs_itself(judged: tuple[dict[str, Any], Path], name: str) -> None:
    """A clear verdict that says why."""
    _, verdict, words = HOSTILE[name]
    outcome = judged[0][name]
    assert outcome["verdict"] == verdict and words in outcome.get("message", ""), outcome


def test_nobody_else_and_nothing_else_is_touched(judged: tuple[dict[str, Any], Path]) -> None:
    """The honest one among them is accepted, no command of theirs ran, and the records are text."""
    outcomes, root = judged
    assert outcomes["honest"]["verdict"] == "accepted", outcomes["honest"]
    assert "symbolic link" in outcomes["link_as_submission"]["message"]
    assert not Path("/tmp/escaped").exists()  # noqa: S108 - where they try to write
    for file in (root / "run").rglob("*"):
        if file.is_file() and file.suffix in {".json", ".jsonl", ".log"}:
            file.read_text(encoding="utf-8")


def test_messages_name_the_students_files(tmp_path: Path) -> None:
    """The compiler is given a name of the judge's, and nobody hears of it."""
    folder = hand_in(tmp_path / "class/s1", text='#include "inner/a.cuh"\n' + NAIVE)
    hand_in(folder / "inner", "a.cuh", '#include "b.cuh"\n')
    hand_in(folder / "inner", "b.cuh", "\n\nint broken = ;\n#warning look here\n")
    done = warpgrade("grade", tmp_path / "class", "--run", tmp_path / "run", "--cases", "synth-identity-k32",
                     "--backend", "emulator", "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "run/submissions/s1/compile.log").read_text(encoding="utf-8")
    assert "staged" not in log and "0.cu" not in log, log
    assert "/run/warpgrade" not in log, log
    assert "inner/b.cuh:4:2: warning: #warning look here" in log, log
    assert "from spmm.cu:1:\n" in log, log
    assert records_of(tmp_path / "run")[0]["outcome"]["message"].startswith("inner/b.cuh(3): error"), log


# ---- archives


def zipped(path: Path, *entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip of these entries."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def raw_tar(path: Path, *blocks: bytes) -> Path:
    """Bytes that call themselves a tar."""
    path.write_bytes(gzip.compress(b"".join(blocks) + b"\0" * 1024))
    return path


def setuid(name: str) -> tarfile.TarInfo:
    """A member with every bit that may be set."""
    info = member(name)
    info.mode = 0o7777
    return info


def with_xattrs(name: str) -> tarfile.TarInfo:
    """A member that asks for a capability and an owner."""
    info = member(name)
    info.pax_headers = {"SCHILY.xattr.security.capability": "\x01\x00\x00\x02", "LIBARCHIVE.xattr.user.x": "eA=="}
    info.uid, info.gid = 0, 0
    return info


def sparse_tar(path: Path) -> Path:
    """A file of 1 TiB, nearly all of it a hole, as GNU tar packs it."""
    folder = path.with_suffix(".folder")
    hand_in(folder, text=SOURCE)
    with (folder / "giant.bin").open("wb") as giant:
        giant.seek(1 << 40)
        giant.write(b"x")
    subprocess.run(["tar", "--sparse", "-czf", path, "-C", folder, "."], check=True)
    shutil.rmtree(folder)
    return path


def pax_path(path: Path, name: bytes) -> Path:
    """A name that a pax header gives, of any bytes and length."""
    return tar(path, (member(name.decode("utf-8", "surrogateescape")), b"x"))


def cut(path: Path, whole: Path, part: float) -> Path:
    """The beginning of an archive."""
    content = whole.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    return path


def zeros_in(path: Path, pack: Callable[[bytes], bytes]) -> Path:
    """A tar with much of nothing, packed."""
    info = member("spmm.cu")
    info.size = 64 << 20
    path.write_bytes(pack(info.tobuf() + b"\0" * (info.size + 1024)))
    return path


def patched(path: Path, old: bytes, new: bytes) -> Path:
    """An archive whose names were changed behind its maker's back, to ones that Python does not write."""
    path.write_bytes(path.read_bytes().replace(old, new))
    return path


SRC = (member("spmm.cu"), SOURCE.encode())
NOISE = os.urandom(300_000)
#: file: how it is made, the reason of its refusal; none where it is taken without what was bad in it
ARCHIVES: dict[str, tuple[Maker, str | None]] = {
    "dotdot.tar.gz": (lambda p: tar(p, SRC, (member("a/../../escaped.cu"), b"x")), "path_traversal"),
    "dotdot.zip": (lambda p: zipped(p, ("spmm.cu", b"x"), ("../escaped.cu", b"x")), "path_traversal"),
    "absolute.zip": (lambda p: zipped(p, ("/escaped.cu", b"x")), "absolute_path"),
    "drive.zip": (lambda p: zipped(p, ("C:/escaped.cu", b"x")), "absolute_path"),
    "linkout.tar.gz": (lambda p: tar(p, SRC, (member("x", tarfile.SYMTYPE, "/etc/passwd"), b"")), "link"),
    "linkzip.zip": (
        lambda p: zipped_link(p), "link"),
    "chain.tar.gz": (
        lambda p: tar(p, (member("a", tarfile.SYMTYPE, ".."), b""), (member("a/a/escaped.cu"), b"x")), "link"),
    "hard.tar.gz": (lambda p: tar(p, SRC, (member("y.cu", tarfile.LNKTYPE, "spmm.cu"), b"")), "link"),
    "hardout.tar.gz": (lambda p: tar(p, SRC, (member("y.cu", tarfile.LNKTYPE, "../../x"), b"")), "link"),
    "char.tar.gz": (lambda p: tar(p, SRC, (member("zero.cu", tarfile.CHRTYPE), b"")), "device"),
    "block.tar.gz": (lambda p: tar(p, SRC, (member("disk", tarfile.BLKTYPE), b"")), "device"),
    "pipe.tar.gz": (lambda p: tar(p, SRC, (member("pipe.cu", tarfile.FIFOTYPE), b"")), "device"),
    "bomb_gzip.tar.gz": (lambda p: zeros_in(p, gzip.compress), "compression_ratio"),
    "bomb_bzip2.tar.bz2": (lambda p: zeros_in(p, bz2.compress), "compression_ratio"),
    "bomb_twice.tar.gz": (lambda p: zeros_in(p, lambda b: gzip.compress(gzip.compress(b))), "compression_ratio"),
    "nested.zip": (
        lambda p: zipped(p, ("a.zip", zipped(p.with_suffix(".in"), ("b.cu", b"\0" * (8 << 20))).read_bytes())),
        "compression_ratio"),
    "entries.zip": (
        lambda p: zipped(p, *((f"d{i}/x", b"") for i in range(100_000)), method=zipfile.ZIP_STORED), "too_many_files"),
    "deep.tar.gz": (lambda p: pax_path(p, b"d/" * 5000 + b"spmm.cu"), "bad_name"),
    "long.tar.gz": (lambda p: pax_path(p, b"a" * 4096 + b".cu"), "bad_name"),
    "newline.zip": (lambda p: zipped(p, ("a\nb.cu", b"x")), "bad_name"),
    "escape.zip": (lambda p: zipped(p, ("\x1b[2J.txt", b"x"), ("spmm.cu", b"x")), "bad_name"),
    "shell.zip": (lambda p: zipped(p, ("$(sh p.h).cu", b"x"), ("p.h", b"touch /tmp/escaped")), "bad_name"),
    "option.zip": (lambda p: zipped(p, ("--help.cu", b"x"), ("spmm.cu", b"x")), "bad_name"),
    "bytes.tar.gz": (lambda p: pax_path(p, b"\xff\xfe.cu"), "bad_name"),
    "bytes_elsewhere.tar.gz": (
        lambda p: tar(p, SRC, (member(b"\xff\xfe.txt".decode("utf-8", "surrogateescape")), b"x")), None),
    "case.tar.gz": (lambda p: tar(p, SRC, (member("SPMM.CU"), b"x"), (member("Spmm.h"), b"//")), None),
    "setuid.tar.gz": (lambda p: tar(p, SRC, (setuid("tool"), b"x")), None),
    "xattr.tar.gz": (lambda p: tar(p, SRC, (with_xattrs("tool"), b"x")), None),
    "sparse.tar.gz": (sparse_tar, "any"),
    "file_and_folder.tar.gz": (lambda p: tar(p, (member("a"), b"x"), (member("a/spmm.cu"), b"x")), "duplicate_entry"),
    "twice.zip": (
        lambda p: patched(zipped(p, ("spmm.cu", b"x"), ("spmm.cv", b"y")), b"spmm.cv", b"spmm.cu"),
        "duplicate_entry"),
    "nul_in_name.zip": (lambda p: patched(zipped(p, ("spmmXx.cu", b"x")), b"spmmX", b"spmm\0"), None),
    "cut.zip": (lambda p: cut(p, zipped(p.with_suffix(".in"), ("a.cu", NOISE)), 0.5), "any"),
    "cut.tar.gz": (lambda p: cut(p, tar(p.with_suffix(".in"), SRC, (member("n"), NOISE)), 0.5), "damaged"),
    "damaged_header.tar.gz": (
        lambda p: raw_tar(p, member("a.cu").tobuf(), b"X" + member("spmm.cu").tobuf()[1:], member("b.cu").tobuf()),
        "damaged"),
    "cut_early.tar.gz": (lambda p: cut(p, tar(p.with_suffix(".in"), SRC), 0.1), "any"),
    "empty.zip": (lambda p: p.write_bytes(b""), "not_an_archive"),
    "huge_header.tar.gz": (
        lambda p: raw_tar(p, long_name_header(1 << 36)), "any"),
    "noise.tar.gz": (lambda p: p.write_bytes(os.urandom(100_000)), "not_an_archive"),
}  # fmt: skip


def zipped_link(path: Path) -> Path:
    """A symbolic link as Unix zips hold it."""
    info = zipfile.ZipInfo("secret.cu")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return path


def long_name_header(size: int) -> bytes:
    """A GNU long name that says it has this many bytes."""
    info = member("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.fixture
def hand_ins(tmp_path: Path) -> Iterator[Path]:
    """A class's folder, which is removed by a program that goes deeper than Python does."""
    folder = tmp_path / "class"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


def test_hostile_archives_cost_themselves(tmp_path: Path, hand_ins: Path) -> None:
    """Each is refused with its reason, or taken without what is bad in it; the others are taken."""
    for name, (make, _) in ARCHIVES.items():
        make(hand_ins / name)
        (hand_ins / name).with_suffix(".in").unlink(missing_ok=True)
    good(hand_ins / "fine.tar.gz")
    hand_in(hand_ins / "folder fine", text=SOURCE)
    os.mkfifo(hand_in(hand_ins / "folder_fifo", text=SOURCE) / "pipe")
    hand_in(hand_ins / "folder_name", RUN_IN_NAME, SOURCE)
    deep_folders(hand_ins / "folder_deep")
    many_folders(hand_ins / "folder_many")
    sparse(hand_in(hand_ins / "folder_sparse", text=SOURCE) / "data.bin", 1 << 40)
    (hand_ins / "link.tar.gz").symlink_to(hand_ins / "fine.tar.gz")
    hand_in(hand_ins / "übung (1)", text=SOURCE).joinpath("notes für mich.txt").write_text("", encoding="utf-8")
    taken, run, done = take(tmp_path, hand_ins, roster=None)
    reasons = {a["origin"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]}
    wanted = {name: reason for name, (_, reason) in ARCHIVES.items()} | {
        "fine.tar.gz": None, "folder fine": None, "übung (1)": None, "folder_fifo": "device",
        "folder_name": "bad_name", "folder_deep": "bad_name", "folder_many": "too_many_files",
        "folder_sparse": "too_large",
    }  # fmt: skip
    subprocess.run(["rm", "-rf", hand_ins / "folder_deep"], check=True)
    assert set(reasons) == set(wanted)
    for name, reason in wanted.items():
        assert reasons[name] == reason if reason != "any" else reasons[name], (name, reasons[name])
    assert not list(tmp_path.parent.rglob("escaped.cu")) and not Path("/tmp/escaped").exists()  # noqa: S108
    assert "\x1b" not in done.stdout + done.stderr
    for file in (run / "snapshots").rglob("*"):
        mode = file.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), file
        assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH), (file, oct(mode))
        assert not os.listxattr(file)
    (renamed,) = [a for a in taken["attempts"] if a["origin"] == "folder_name"]
    assert "rename it to _sh_p.h.cu" in json.dumps(renamed["refusal"]), renamed


def test_a_whole_export_with_hostile_entries(tmp_path: Path) -> None:
    """One archive of a class: what is bad in it is its owner's, and the rest is taken."""
    archive = tar(
        tmp_path / "export.tar.gz",
        (member("good/spmm.cu"), SOURCE.encode()),
        (member("up/../../escaped.cu"), b"x"),
        (member("linker/spmm.cu", tarfile.SYMTYPE, "../good/spmm.cu"), b""),
        (member("shell/$(id).cu"), b"x"),
    )
    taken, _, _ = take(tmp_path, archive, roster=None)
    reasons = {a["origin"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]}
    assert reasons["good"] is None and reasons["shell"] == "bad_name", reasons
    assert not list(tmp_path.parent.rglob("escaped.cu"))


def test_submit_packs_what_it_has_read(tmp_path: Path) -> None:
    """A pipe or an unsafe name among the sources is told instead of packed."""
    for name, make in (("pipe", lambda f: os.mkfifo(f / "x.cu")), ("name", lambda f: hand_in(f, "a$b.cu"))):
        folder = hand_in(tmp_path / name)
        make(folder)
        done = warpgrade("submit", folder, "--lab", "spmm", "--output", tmp_path / "x.tar.gz", timeout=60)
        assert done.returncode == 1 and ("plain file" in done.stderr or "the character $" in done.stderr), done.stderr
        shutil.rmtree(folder)
    assert not (tmp_path / "x.tar.gz").exists()
