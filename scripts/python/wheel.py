#!/usr/bin/env python3
"""Packs a package as a Python wheel: scripts/wheel [--emulator] PACKAGE.tar.gz [FOLDER].

`pip install` of it gives the command `warpgrade`, for notebooks `%load_ext warpgrade`, and what renders reports (for
the hand-out with `[reports]`).
NVIDIA's compiler comes from the machine's toolkit, or into the user's cache with the first command that judges.
With --emulator it is the wheel `warpemu`: the package's emulator alone, and the command `warpemu`. In the place of a
package a build's folder does as well, build/emulator.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

START = '''"""Judges GPU-programming labs: the programs of Warpgrade, started from where they are installed."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program."""
    os.environ["WARPGRADE_PYTHON_PACKAGE"] = sys.executable
    program = str(Path(__file__).parent / "tree" / "warpgrade")
    os.execv(program, [program, *sys.argv[1:]])
'''


def newest_glibc(programs: Iterable[bytes]) -> tuple[int, int]:
    """The newest version of the C library that one of them asks for."""
    newest = (2, 17)
    for data in programs:
        versions = re.findall(rb"\0GLIBC_2\.(\d+)", data)
        newest = max([newest, *((2, int(v)) for v in versions)])
    return newest


def glibc_of(tree: tarfile.TarFile) -> tuple[int, int]:
    """The same of the programs in a package."""
    inside = [m for m in tree.getmembers() if m.isfile() and re.search(r"/(bin|lib|emulator|executor)/", m.name)]
    return newest_glibc(data.read() for member in inside if (data := tree.extractfile(member)))


def requirements(tree: tarfile.TarFile, root: str, *, optional: bool) -> list[str]:
    """What the reports need, as metadata says it; optional: as the extra `reports`."""
    data = tree.extractfile(f"{root}/reports/requirements.txt")
    lines = data.read().decode().split("\n") if data else []
    found = ["Provides-Extra: reports"] if optional else []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        what, _, marker = (part.strip() for part in line.partition(";"))
        conditions = ([f"({marker})"] if marker else []) + (['extra == "reports"'] if optional else [])
        found.append(f"Requires-Dist: {what}" + (f"; {' and '.join(conditions)}" if conditions else ""))
    return found


Files = dict[str, tuple[bytes, int]]  # content and mode, by path


def write_wheel(folder: Path, name: str, version: str, tag: str, files: Files, metadata: list[str], entry: str) -> Path:
    """The wheel of these files; PyPA's specification of the binary distribution format has the rest."""
    info = f"{name}-{version}.dist-info"
    head = ["Metadata-Version: 2.1", f"Name: {name.replace('_', '-')}", f"Version: {version}", *metadata]
    files[f"{info}/METADATA"] = ("\n".join(head).encode() + b"\n", 0o644)
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: warpgrade\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        0o644,
    )
    files[f"{info}/entry_points.txt"] = (f"[console_scripts]\n{entry}\n".encode(), 0o644)
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for path, (data, _) in files.items()
    ]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]).encode() + b"\n", 0o644)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, (data, mode) in files.items():
            entry_of = zipfile.ZipInfo(path)
            entry_of.external_attr = (0o100000 | mode) << 16
            entry_of.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry_of, data)
    return wheel


def pack(package: Path, folder: Path) -> Path:
    """The wheel of a package."""
    with tarfile.open(package) as tree:
        root = tree.getnames()[0].split("/")[0]
        found = re.fullmatch(r"warpgrade(-handout)?-([0-9.]+)-linux-(\w+)", root)
        if not found:
            sys.exit(f"wheel: {package} is not a package of scripts/package")
        name, version, machine = ("warpgrade_handout" if found[1] else "warpgrade"), found[2], found[3]
        module = "warpgrade_handout" if found[1] else "warpgrade_package"
        tag = "py3-none-manylinux_{}_{}_{}".format(*glibc_of(tree), machine)
        files: Files = {f"{module}/__init__.py": (START.encode(), 0o644)}
        for member in tree.getmembers():
            data = tree.extractfile(member) if member.isfile() or member.issym() else None
            if data is not None and member.name != f"{root}/Makefile":  # commands are not given in its folder
                path = member.name.partition("/")[2]
                files[f"{module}/tree/{path}"] = (data.read(), member.mode)
        # `%load_ext warpgrade`: a module of its own beside the tree.
        notebook = f"{module}/tree/scripts/bridges/notebook/"
        beside = {path: held for path, held in files.items() if path.startswith(f"{notebook}warpgrade/")}
        files |= {path.removeprefix(notebook): held for path, held in beside.items()}
        metadata = ["Summary: Harness and grader for GPU-programming courses", "Requires-Python: >=3.10",
                    *requirements(tree, root, optional=bool(found[1]))]  # fmt: skip
    return write_wheel(folder, name, version, tag, files, metadata, f"warpgrade = {module}:main")


def emulator_of(source: Path) -> Files:
    """The emulator's libraries by name, and the licences beside them; of a folder or of a package."""
    if source.is_dir():
        licences = source.parent / "licences"
        paths = [*source.glob("lib*.so*"), *(licences.iterdir() if licences.is_dir() else [])]
        return {f"{path.parent.name}/{path.name}": (path.read_bytes(), 0o644) for path in paths}
    with tarfile.open(source) as tree:
        found = [re.fullmatch(r"[^/]+/((?:emulator|licences)/[^/]+)", member.name) for member in tree.getmembers()]
        wanted = [(match[1], match[0]) for match in found if match]
        return {name: (data.read(), 0o644) for name, path in wanted if (data := tree.extractfile(path))}


def compiler_requirements(libraries: Iterable[str]) -> list[str]:
    """The extra `nvcc`: NVIDIA's compiler, where scripts/cuda-wheels.txt has the version of this runtime."""
    part = (ROOT / "scripts/cuda-wheels.txt").read_text(encoding="utf-8").partition("# cuRAND,")[0]
    pinned = re.findall(r"^(nvidia-[a-z-]+)==((\d+)[0-9.]+)", part, re.MULTILINE)
    majors = {major for _, _, major in pinned}
    if not any(re.search(rf"libcudart\.so\.({'|'.join(majors)})$", name) for name in libraries):
        return []
    wanted = [f'Requires-Dist: {name}=={version}; extra == "nvcc"' for name, version, _ in pinned]
    return ["Provides-Extra: nvcc", *wanted]


def pack_emulator(source: Path, folder: Path) -> Path:
    """The wheel `warpemu`: its modules of Python, and the libraries of a package or a build."""
    module = (ROOT / "grader/emulator/python/warpemu.py").read_bytes()
    version = re.search(rb'^__version__ = "([0-9.]+)"$', module, re.MULTILINE)
    found = emulator_of(source)
    libraries = {name: data for name, (data, _) in found.items() if name.startswith("emulator/")}
    if not version or not any("libcudart" in name for name in libraries):
        sys.exit(f"wheel: {source} has no emulator/libcudart.so: give a package, or build/emulator")
    newest = newest_glibc(libraries.values())
    of_package = re.search(r"-linux-(\w+)\.tar\.gz$", source.name)
    machine = of_package[1] if of_package else platform.machine()
    tag = "py3-none-manylinux_{}_{}_{}".format(*newest, machine)
    modules = sorted((ROOT / "grader/emulator/python").glob("*.py"))
    files: Files = {file.name: (file.read_bytes(), 0o644) for file in modules}
    for name, (data, mode) in found.items():
        files["warpemu_libraries/" + name.removeprefix("emulator/")] = (data, mode)
    page = (ROOT / "grader/emulator/python/README.md").read_text(encoding="utf-8")
    metadata = ["Summary: Runs CUDA programs without a GPU and names the lines of their mistakes",
                "Requires-Python: >=3.9", *compiler_requirements(libraries),
                "Description-Content-Type: text/markdown", "", page]  # fmt: skip
    return write_wheel(folder, "warpemu", version[1].decode(), tag, files, metadata, "warpemu = warpemu:main")


if __name__ == "__main__":
    words = sys.argv[1:]
    makes = pack_emulator if words[:1] == ["--emulator"] else pack
    words = words[1:] if makes is pack_emulator else words
    if len(words) not in (1, 2):
        sys.exit("usage: scripts/wheel [--emulator] PACKAGE.tar.gz [FOLDER]")
    source = Path(words[0])
    if not (source.is_file() and tarfile.is_tarfile(source)) and not (makes is pack_emulator and source.is_dir()):
        sys.exit(f"scripts/wheel: {source}: expected a package that `make package` made, or with --emulator a folder")
    made = makes(source, Path(words[1] if len(words) > 1 else "."))
    print(f"{made} ({made.stat().st_size / 1_000_000:.1f} MB)")
