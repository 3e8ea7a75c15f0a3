"""`warpgrade_remote.py` on the systems that students have; Windows is a model here, put together from its parts.

Held against: CPython's own PureWindowsPath and code page 1252, and Python 3.9 where the machine has one.
"""

from __future__ import annotations

import ast
import ctypes
import gzip
import io
import os
import pty
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from types import ModuleType, SimpleNamespace

import pytest
from conftest import ROOT, python_of
from desk_place import CLIENT, NAIVE, client_module

SOURCE = CLIENT.read_text(encoding="ascii")


@pytest.fixture
def client() -> ModuleType:
    return client_module()


# ---- Python 3.9 and its library


def test_the_program_needs_python_3_9_and_its_library_alone() -> None:
    tree = ast.parse(SOURCE, feature_version=(3, 9))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {str(name).partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"^project\(warpgrade VERSION ([0-9.]+)", lists, re.MULTILINE)
    assert version
    assert f'VERSION = "{version[1]}"\n' in SOURCE


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.13"])
def test_a_real_python_of_this_version_packs_and_packs_alike(tmp_path: Path, version: str) -> None:
    """`submit` and `--help` without site-packages; the same sources are the same bytes everywhere."""
    (tmp_path / "spmm").mkdir()
    (tmp_path / "spmm/spmm.cu").write_text(NAIVE, encoding="utf-8")
    packed = []
    for python in (python_of(version), sys.executable):
        command = [python, "-I", "-S", "-W", "error", str(CLIENT)]
        done = subprocess.run([*command, "submit", "spmm"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "packed   spmm.cu" in done.stdout
        packed.append(gzip.decompress((tmp_path / "spmm-submission.tar.gz").read_bytes()))
        told = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
        assert "test spmm --remote gpu.example.edu" in told
    assert packed[0] == packed[1]


@pytest.mark.parametrize("version", ["3.7", "3.8"])
def test_an_older_python_is_told_which_one_to_get(version: str) -> None:
    done = subprocess.run([python_of(version), str(CLIENT)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "warpgrade_remote: needs Python 3.9 or newer; python.org has it\n"


# ---- A model of Windows


class WindowsPath(PureWindowsPath):
    """A path of Windows whose files are in the table."""

    files = {  # noqa: RUF012
        r"C:\Users\Ada L\labs\spmm\spmm.cu": b"a\r\n",
        r"C:\Users\Ada L\labs\spmm\src\kernel.cuh": b"b\r\n",
        r"C:\Users\Ada L\labs\spmm\notes.docx": b"c",
    }

    def is_file(self) -> bool:
        return str(self) in self.files

    def is_symlink(self) -> bool:
        return False

    def read_bytes(self) -> bytes:
        return self.files[str(self)]


def test_an_archive_from_windows_has_names_with_slashes(client: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    root = r"C:\Users\Ada L\labs\spmm"
    walked = [(root, ["x64", ".vs", "src"], ["spmm.cu", "notes.docx"]), (root + r"\src", [], ["kernel.cuh"])]
    monkeypatch.setattr(client, "Path", WindowsPath)
    monkeypatch.setattr(client.os, "walk", lambda _: walked)
    sources = client.Sources(WindowsPath(root), "spmm")
    with tarfile.open(fileobj=io.BytesIO(sources.archive())) as tar:
        assert tar.getnames() == ["spmm/spmm.cu", "spmm/src/kernel.cuh"]
    assert sources.left_out == ["notes.docx"]
    assert walked[0][1] == ["src"], "folders of an editor and of a build are not looked into"


@pytest.mark.parametrize("works", [True, False])
def test_a_console_of_windows_is_asked_for_escape_codes(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """Where it has none, as before Windows 10's version 1511, lines are written one after another."""
    asked: list[int] = []

    def get_mode(_: int, mode: object) -> int:
        mode._obj.value = 3  # type: ignore[attr-defined]
        return 1

    def set_mode(_: int, mode: int) -> int:
        asked.append(mode)
        return int(works)

    kernel = SimpleNamespace(GetStdHandle=lambda which: which, GetConsoleMode=get_mode, SetConsoleMode=set_mode)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr(client, "WINDOWS", True)
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setattr(client.sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert client.takes_escape_codes() is works
    assert asked == [3 | 4]  # ENABLE_VIRTUAL_TERMINAL_PROCESSING


@pytest.mark.parametrize("lacks", ["ctypes", "windll"])
def test_a_python_without_ctypes_writes_plain_lines(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    if lacks == "ctypes":
        monkeypatch.setitem(sys.modules, "ctypes", None)
    monkeypatch.setattr(client, "WINDOWS", True)
    monkeypatch.setattr(client.sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert client.takes_escape_codes() is False


def test_windows_own_ssh_is_found_where_the_path_has_none(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A 32-bit Python sees System32 as another folder, and the real one as Sysnative."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("WARPGRADE_SSH", raising=False)
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path))
    with pytest.raises(client.TroubleError, match="Optional features"):
        client.ssh_program()
    own = tmp_path / "Sysnative/OpenSSH/ssh.exe"
    own.parent.mkdir(parents=True)
    own.touch()
    assert client.ssh_program() == [str(own)]
    with_space = tmp_path / "Program Files/ssh.exe"
    with_space.parent.mkdir()
    with_space.touch()
    monkeypatch.setenv("WARPGRADE_SSH", str(with_space))
    assert client.ssh_program() == [str(with_space)]


def test_ctrl_c_does_not_reach_ssh_on_windows(client: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr(client.subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    monkeypatch.setattr(client.subprocess, "Popen", lambda *_, **options: given.update(options))
    client.start_ssh(["ssh"])
    assert given["creationflags"] == client.subprocess.CREATE_NEW_PROCESS_GROUP


def test_commands_are_told_as_windows_takes_them(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Ada L").mkdir()
    monkeypatch.setattr(client, "WINDOWS", True)
    monkeypatch.setattr(client, "__file__", str(tmp_path / "Ada L/warpgrade_remote.py"))
    assert client.own_command() == f'py "{tmp_path}/Ada L/warpgrade_remote.py"'
    monkeypatch.chdir(tmp_path / "Ada L")
    assert client.own_command() == "py warpgrade_remote.py"
    again = 'py warpgrade_remote.py test spmm --case "synth-*" --folder "my labs" --remote gpu'
    assert client.again("spmm", "gpu", "my labs", "synth-*") == again
    told = str(client.nobody_at(client.Address("gpu.example.edu"), 255))
    assert r"type %USERPROFILE%\.ssh\id_ed25519.pub" in told


def test_a_console_of_code_page_1252_gets_what_it_has(tmp_path: Path) -> None:
    """Python writes there what a pipe or an older console takes; a letter that it lacks is a question mark."""
    done = subprocess.run(
        [sys.executable, CLIENT, "submit", "spmm", "--folder", "\u4e2d\u00b5"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert "there is no folder ?\u00b5/spmm; give --folder" in done.stderr.decode("cp1252")


# ---- Terminals


@pytest.mark.parametrize("term", ["xterm", "dumb", ""])
def test_a_terminal_without_escape_codes_gets_none(tmp_path: Path, term: str) -> None:
    """On a real terminal, with a desk that says nothing after its hello for a while."""
    (tmp_path / "ssh").write_text(
        '#!/bin/sh\necho \'{"tell": "hello", "protocol": 1}\'\nread -r line\nsleep 3\n'
        'echo \'{"tell": "refused", "reason": "drained", "message": "no", "next_step": "warpgrade remote history"}\'\n',
        encoding="utf-8",
    )
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "spmm").mkdir()
    (tmp_path / "spmm/spmm.cu").write_text(NAIVE, encoding="utf-8")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, CLIENT, "test", "spmm", "--remote", "gpu"],
        cwd=tmp_path,
        env={**os.environ, "TERM": term, "WARPGRADE_SSH": str(tmp_path / "ssh")},
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 4096):
            said += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert running.wait(timeout=30) == 1
    assert (b"\x1b" in said) == (term == "xterm")
    assert b"gpu refuses: no; python3 " in said
    assert said.rstrip().endswith(b"warpgrade_remote.py history")


NO_LINES = {
    "list": b"[]",
    "text": b"x",
    "nan": b'{"a": NaN}',
    "deep": b'{"a": ' + b"[" * 50 + b"]" * 50 + b"}",
    "very deep": b"[" * 100_000,
    "not utf-8": b'{"a": "\xff"}',
}


@pytest.mark.parametrize("kind", NO_LINES)
def test_a_line_that_no_desk_says_ends_the_connection(client: ModuleType, kind: str) -> None:
    with pytest.raises(client.BrokenError):
        client.read_line(NO_LINES[kind])


# ---- Pages


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("feedback/index.html", True),
        ("feedback/pictures/a-b_c+d.png", True),
        ("feedback/.hidden", False),
        ("feedback/../../x", False),
        ("/etc/passwd", False),
        ("feedback/a:b", False),
        ("feedback/..\\..\\x", False),
        ("C:\\x", False),
        ("feedback/con.html", False),
        ("feedback/NUL", False),
        ("feedback/lpt1.txt", False),
        ("feedback/x.", False),
        ("feedback/x ", False),
        ("feedback/\u00e9", False),
        ("", False),
    ],
)
def test_a_page_has_names_that_stay_in_their_folder_on_every_system(client: ModuleType, name: str, safe: bool) -> None:
    """Windows gives devices for files with their names, and drops dots and spaces at the end."""
    assert client.is_safe(name) is safe


def page_with(change: Callable[[tarfile.TarFile], None]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        page = tarfile.TarInfo("feedback/index.html")
        page.size = 4
        tar.addfile(page, io.BytesIO(b"page"))
        change(tar)
    return out.getvalue()


def link(tar: tarfile.TarFile) -> None:
    made = tarfile.TarInfo("feedback/x")
    made.type, made.linkname = tarfile.SYMTYPE, "/etc"
    tar.addfile(made)


def sparse(tar: tarfile.TarFile) -> None:
    """Many bytes out of none."""
    made = tarfile.TarInfo("feedback/x")
    sizes = {"GNU.sparse.size": str(64 << 20), "GNU.sparse.numblocks": "1", "GNU.sparse.map": f"{64 << 20},0"}
    made.pax_headers = sizes
    tar.addfile(made)


def bomb(tar: tarfile.TarFile) -> None:
    made = tarfile.TarInfo("feedback/x")
    made.size = 64 << 20
    tar.addfile(made, io.BytesIO(bytes(made.size)))


def many(tar: tarfile.TarFile) -> None:
    for number in range(1001):
        tar.addfile(tarfile.TarInfo(f"feedback/{number}"))


def nothing(_: tarfile.TarFile) -> None:
    pass


@pytest.mark.parametrize("change", [link, sparse, bomb, many])
def test_a_hostile_page_is_not_taken(
    client: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[tarfile.TarFile], None]
) -> None:
    """The verdicts stand without it, and nothing of it stays."""
    monkeypatch.chdir(tmp_path)
    run = client.Run(client.Address("gpu"), "spmm", client.Screen())
    run.number = 7
    for packed, taken in ((page_with(change), False), (page_with(nothing)[:-9], False), (page_with(nothing), True)):
        line = {"bytes": len(packed), "sha256": client.hashlib.sha256(packed).hexdigest()}
        run.take_page(SimpleNamespace(exactly=lambda _, packed=packed: packed), line)
        assert bool(run.page) is taken
    assert [path.name for path in Path("runs/remote/gpu/spmm").iterdir()] == ["7"]
    assert [path.name for path in Path("runs/remote/gpu/spmm/7").iterdir()] == ["index.html"]
