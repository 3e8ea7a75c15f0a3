#!/usr/bin/env python3
"""clang-tidy over the C++ sources that a build folder compiles; CUDA is left out, since it is nvcc's language.

    scripts/tidy BUILD              the sources that changed, at most 20 a call: what `make lint` does
    scripts/tidy BUILD --since REV  the same of what differs from REV
    scripts/tidy BUILD --all [PART] all sources, or those whose path has PART in it (most of an hour on two cores)

The checks stand in .clang-tidy. BUILD must be configured; what headers are generated is built here. A source that was
found clean leaves a stamp in .cache/tidy: a hash of the source, of the files of this tree that it includes, of its
compiler's arguments and of the checks. It is not read again while the hash is the same.

Without --all these are read: sources that differ from the commit before the last one, sources that differ from their
stamp, and for each header that differs from that commit one source that includes it. Where more than 20 are to be
read, those with the most changed lines are, and a line says how many are left; the next call reads the next ones.
Exit code 1: a check failed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
MOST_SOURCES = 20
GENERATED_HEADERS = "warpemu_generated_headers"  # a target; it is not there where the toolkit has no stub of libcuda
# gcc's options that clang does not know.
GCC_ONLY = ("-Wno-maybe-uninitialized", "-fno-ipa", "-fno-tree", "-fipa", "-fno-gcse", "--param")


class Source(NamedTuple):
    """One source with the arguments that its target is compiled with."""

    path: Path
    directory: str
    arguments: tuple[str, ...]


class Stamp(NamedTuple):
    """What a source was when it was found clean."""

    own: str  # a hash of the source alone
    whole: str  # of all that its findings depend on


def output_of(*command: str | Path) -> str:
    """What a command writes; it must end well."""
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def sources_of(build: Path) -> dict[Path, Source]:
    """Every C++ source of the tree; one that is compiled together with others has the arguments of all of them."""
    sources: dict[Path, Source] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.suffix not in (".cpp", ".cxx") or not file.is_file():
            continue
        words = shlex.split(entry["command"])
        arguments = tuple(w for w in words[1:] if w != entry["file"] and not w.startswith(GCC_ONLY))
        together = re.findall(r'^#include "(/.*\.cpp)"$', file.read_text(), re.MULTILINE)
        for path in [Path(name) for name in together] or [file]:
            if path.is_relative_to(ROOT) and not path.is_relative_to(build):
                sources.setdefault(path, Source(path, entry["directory"], arguments))
    return sources


class Includes:
    """The files of this tree that a source includes, in whatever conditions: more than the compiler would read."""

    def __init__(self) -> None:
        self._named: dict[Path, list[str]] = {}
        self._found: dict[tuple[Path, tuple[Path, ...]], list[Path]] = {}

    def of(self, source: Source) -> set[Path]:
        words = iter(source.arguments)
        folders = []
        for word in words:
            if word.startswith(("-I", "-iquote", "-isystem")):
                name = word.removeprefix("-iquote").removeprefix("-isystem").removeprefix("-I") or next(words)
                folders.append(Path(os.path.normpath(Path(source.directory) / name)))
        own = tuple(folder for folder in dict.fromkeys(folders) if folder.is_relative_to(ROOT))
        seen, waiting = {source.path}, [source.path]
        while waiting:
            for path in self._of_file(waiting.pop(), own):
                if path not in seen:
                    seen.add(path)
                    waiting.append(path)
        return seen - {source.path}

    def _of_file(self, path: Path, folders: tuple[Path, ...]) -> list[Path]:
        if path not in self._named:
            self._named[path] = INCLUDE.findall(path.read_text(errors="replace"))
        if (path, folders) not in self._found:
            found = []
            for name in self._named[path]:
                places = (Path(os.path.normpath(folder / name)) for folder in (path.parent, *folders))
                found += [place for place in places if place.is_file()][:1]
            self._found[path, folders] = found
        return self._found[path, folders]


class Stamps:
    """What was found clean, a file of two hashes for each source."""

    def __init__(self, folder: Path, settings: str) -> None:
        self._folder = folder
        self._settings = settings
        self._hashes: dict[Path, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def _file(self, source: Source) -> Path:
        return self._folder / str(source.path.relative_to(ROOT)).replace("/", "-")

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            self._hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._hashes[path]

    def now(self, source: Source, included: set[Path]) -> Stamp:
        """What the stamp would be. Two checkouts and build folders may have the same."""
        arguments = [word.replace(str(ROOT), ".") for word in source.arguments]
        whole = hashlib.sha256("\0".join([self._settings, *arguments]).encode())
        for path in sorted({source.path, *included}):
            whole.update(f"{path.relative_to(ROOT)}={self._hash(path)}\n".encode())
        return Stamp(self._hash(source.path), whole.hexdigest())

    def kept(self, source: Source) -> Stamp | None:
        try:
            own, whole = self._file(source).read_text().split()
        except (OSError, ValueError):
            return None
        return Stamp(own, whole)

    def keep(self, source: Source, stamp: Stamp) -> None:
        self._file(source).write_text(f"{stamp.own} {stamp.whole}\n")


def changed_since(revision: str) -> dict[Path, int]:
    """The files that differ between a revision and the working tree, with their numbers of changed lines."""
    changed: dict[Path, int] = {}
    fields = output_of("git", "diff", "--numstat", "-z", "--no-renames", "--diff-filter=d", revision).split("\0")
    for field in filter(None, fields):
        added, removed, name = field.split("\t")
        if added != "-":
            changed[ROOT / name] = int(added) + int(removed)
    for name in filter(None, output_of("git", "ls-files", "-z", "--others", "--exclude-standard").split("\0")):
        if (ROOT / name).suffix in (".cpp", ".cxx", ".h"):
            changed[ROOT / name] = (ROOT / name).read_bytes().count(b"\n")
    return changed


def last_change() -> str:
    """The commit before the last one, or the last one where it is the first of all that are known."""
    known = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "HEAD~1"], cwd=ROOT, capture_output=True, check=False
    )
    return "HEAD~1" if known.returncode == 0 else "HEAD"


def findings_in(program: Path, source: Source) -> str:
    """Reads one source; returns its findings, "" when there are none."""
    headers = f"--header-filter=^{re.escape(str(ROOT))}/(grader|datasets|reference)/"
    command: list[str | Path] = [
        program,
        "--quiet",
        headers,
        "--extra-arg=-Wno-everything",
        source.path,
        "--",
        *source.arguments,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=source.directory)
    return "" if done.returncode == 0 else done.stdout or done.stderr


def includer_of(header: Path, sources: dict[Path, Source], included: dict[Path, set[Path]]) -> Path | None:
    """A source through which a header is read: the one of its name, or the one that includes the least."""
    those = [path for path in sources if header in included[path]]
    return min(those, key=lambda path: (path.stem != header.stem, len(included[path]), path), default=None)


def choose_changed(
    revision: str, sources: dict[Path, Source], included: dict[Path, set[Path]], stamps: Stamps
) -> list[Path]:
    """What is worth reading without --all, by the number of changed lines."""
    changed = changed_since(revision)
    lines = {path: changed[path] for path in changed if path in sources}
    for path, source in sources.items():
        kept = stamps.kept(source)
        if kept is not None and kept.own != stamps.now(source, included[path]).own:
            lines.setdefault(path, 1)
    for header in changed:
        includer = includer_of(header, sources, included) if header.suffix == ".h" else None
        if includer is not None:
            lines.setdefault(includer, changed[header])
    return sorted(lines, key=lambda path: (-lines[path], path))


def read_all(program: Path, wanted: dict[Path, tuple[Source, Stamp]], stamps: Stamps) -> list[str]:
    """The findings of all sources; a header's finding once. Stamps are kept at once: a call may be cut off."""

    def read(one: tuple[Source, Stamp]) -> str:
        words = findings_in(program, one[0])
        if not words:
            stamps.keep(*one)
        return words

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = list(pool.map(read, wanted.values()))
    return [words for words in dict.fromkeys(said) if words]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--since", metavar="REV")
    parser.add_argument("--all", metavar="PART", nargs="?", const="")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    if not (build / "compile_commands.json").is_file():
        parser.error(f"{build} has no compile_commands.json: run `make configure` first")
    program = ROOT / ".venv/bin/clang-tidy"
    if GENERATED_HEADERS in output_of("ninja", "-C", build, "-t", "targets", "all"):
        output_of("ninja", "-C", build, GENERATED_HEADERS)
    stamps = Stamps(ROOT / ".cache/tidy", output_of(program, "--version") + (ROOT / ".clang-tidy").read_text())
    sources, includes = sources_of(build), Includes()
    included = {path: includes.of(source) for path, source in sources.items()}
    if arguments.all is None:
        chosen = choose_changed(arguments.since or last_change(), sources, included, stamps)
    else:
        chosen = [path for path in sources if arguments.all in str(path.relative_to(ROOT))]
    wanted = {path: (sources[path], stamps.now(sources[path], included[path])) for path in chosen}
    wanted = {path: one for path, one in wanted.items() if stamps.kept(one[0]) != one[1]}
    left = 0
    if arguments.all is None:
        left = max(0, len(wanted) - MOST_SOURCES)
        wanted = dict(list(wanted.items())[:MOST_SOURCES])
    said = read_all(program, wanted, stamps)
    for words in said:
        print(words, end="")
    later = f"; {left} changed ones are left for the next call (`make tidy` reads all)" if left else ""
    print(f"tidy: {len(wanted)} sources read, {len(said)} with findings{later}", file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
