"""What a class's programs are compared with: its own run, earlier years' runs, given folders, kept fingerprints.

`--against PATH` takes a run's folder, any other folder, or a file that `--keep-fingerprints` wrote. In a folder that is
no run, each highest sub-folder that holds sources is a program, and so is each source that lies in the folder itself.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpgrade_reports.similarity import GRAM, WINDOW, Comparison, Place, Print, all_grams, print_of
from warpgrade_reports.source import Node, ReportInputError, read_node
from warpgrade_reports.text import plain_line
from warpgrade_reports.tokens import METHOD, SUFFIXES
from warpgrade_reports.untrusted import files_below

SCHEMA = "warpgrade.fingerprints.v1"
_ROOT = Path(__file__).resolve().parents[2]
_METHOD = {"tokens": METHOD, "gram": GRAM, "window": WINDOW}
_MOST_GIVEN = 500_000  # entries of a given folder
_ALONE = 50  # programs that one process reads sooner than several start

_Task = tuple[str, Path, frozenset[str], str, Sequence[Path] | None]


def compared(run: Path, lab: str, sources: Path | None, against: Sequence[Path] = ()) -> Comparison:
    """The class's programs and all that they are compared with; `sources`: a folder a submission.

    Raises ReportInputError where a path of `against` is nothing to compare with.
    """
    given = [_ROOT / "student" / lab, _ROOT / "reference/include", _ROOT / "reference" / lab]
    handout = all_grams(place for place in given if place.is_dir())
    own = _prints(_tasks_of_run(run, sources, ""))
    return Comparison(own, handout, [_earlier(path) for path in against])


def _prints(tasks: Sequence[_Task]) -> list[Print]:
    if len(tasks) > _ALONE and (os.cpu_count() or 1) > 1:
        with multiprocessing.Pool(2) as pool:
            return pool.starmap(print_of, tasks, chunksize=8)
    return [print_of(*task) for task in tasks]


def _earlier(path: Path) -> list[Print]:
    if path.is_file():
        return read_fingerprints(path)
    if not path.is_dir():
        raise ReportInputError(
            str(path), "expected a folder or a file of kept fingerprints, got neither", "correct --against"
        )
    if (path / "run.json").is_file():
        found = _prints(_tasks_of_run(path, None, _run_of(path).text("run")))
    else:
        found = _prints(_tasks_of_folder(path))
    if not any(program.places for program in found):
        raise ReportInputError(
            str(path),
            f"expected sources ({', '.join(sorted(SUFFIXES))}), got none",
            "name a run with its snapshots, or a folder of programs, unpacked",
        )
    return found


def _tasks_of_run(run: Path, sources: Path | None, origin: str) -> list[_Task]:
    """Each student's submission that has sources, and whose it is."""
    snapshots = _snapshots(run)
    found: list[_Task] = []
    for submission in _run_of(run).children("submissions"):
        if submission.value.get("role", "student") != "student":
            continue
        name = submission.text("id")
        place = sources / name if sources else snapshots.get(name)
        if place is not None and place.is_dir():
            members = submission.value.get("members") or [submission.value.get("student", name)]
            found.append((name, place, frozenset(map(str, members)), origin, None))
    return sorted(found, key=lambda task: task[0])


def _run_of(folder: Path) -> Node:
    return read_node(folder / "run.json", "name a run's folder")


def _snapshots(run: Path) -> dict[str, Path]:
    """Where each submission's sources were kept when the class was taken in; none of a run without a class."""
    class_list = run / "submissions.json"
    if not class_list.is_file():
        return {}
    attempts = read_node(class_list, "ingest the class again").value.get("attempts", [])
    return {
        attempt["submission"]: run / "snapshots" / Path(attempt["snapshot"]).name
        for attempt in attempts
        if "submission" in attempt and "snapshot" in attempt
    }


def _tasks_of_folder(folder: Path) -> list[_Task]:
    sources = [file for file in files_below(folder, _MOST_GIVEN) if file.suffix in SUFFIXES]
    holders = {file.parent for file in sources} - {folder}
    programs: dict[Path, list[Path]] = defaultdict(list)
    for file in sources:
        within = [place for place in file.parents if place in holders]
        programs[within[-1] if within else file].append(file)
    return [
        (plain_line(str(place.relative_to(folder))), folder, frozenset([place.name]), folder.resolve().name, files)
        for place, files in sorted(programs.items())
    ]


def read_fingerprints(file: Path) -> list[Print]:
    """The programs of a kept file; raises ReportInputError where it is none, or of another method."""
    node = read_node(file, "name a run's folder, a folder of programs or a file that --keep-fingerprints wrote")
    node.require_schema(SCHEMA)
    if node.value.get("method") != _METHOD:
        raise ReportInputError(
            str(file),
            f"expected fingerprints of method {_METHOD}, got {node.value.get('method')}",
            "keep them anew from that year's run, with this version of warpgrade",
        )
    return [_program(item, node.text("run")) for item in node.children("programs")]


def _program(node: Node, origin: str) -> Print:
    files = node.value.get("files")
    hashes, places = node.value.get("hashes"), node.value.get("places")
    if not isinstance(files, list) or not isinstance(hashes, list) or not isinstance(places, list):
        raise node.error("expected files, hashes and places, each a list")
    try:
        found = {
            int(value): Place(str(files[at]), int(line), int(last))
            for value, (at, line, last) in zip(hashes, places, strict=True)
        }
    except (ValueError, TypeError, IndexError) as error:
        raise node.error("expected a place (file, first line, last line) for each hash") from error
    return Print(node.text("name"), found, frozenset(map(str, node.value.get("people", []))), origin)


def keep_fingerprints(comparison: Comparison, run: Path, file: Path, *, names: str = "pseudonyms") -> None:
    """Writes the class's fingerprints, which next year's --against takes; no source can be read from them.

    `names`: "ids" as the run has them, or "pseudonyms"; who is who then stands in RUN/secret/fingerprint_names.csv.
    Raises ReportInputError where another file stands at that place or it cannot be written.
    """
    if file.exists() and not file.read_bytes()[:200].lstrip(b"{ \n").startswith(b'"schema": "' + SCHEMA.encode()):
        raise ReportInputError(
            str(file), "expected no such file or earlier fingerprints, got another file", "name another file"
        )
    called = _pseudonyms(comparison.programs, run) if names == "pseudonyms" else {}
    value = {
        "schema": SCHEMA,
        "method": _METHOD,
        "run": _run_of(run).text("run"),
        "names": names,
        "programs": [_kept(program, called.get(program.name), comparison) for program in comparison.programs],
    }
    try:
        _write_private(file, json.dumps(value, separators=(",", ": ")))
    except OSError as error:
        raise ReportInputError(
            str(file), f"expected to write there, got: {error.strerror}", "name another file"
        ) from error


def _kept(program: Print, pseudonym: str | None, comparison: Comparison) -> dict[str, Any]:
    """A file's own name may be its author's: under a pseudonym it has a number in its place."""
    files = sorted({place.file for place in program.places.values()})
    own = {value: place for value, place in program.places.items() if value not in comparison.given}
    shown = [f"file {at}{Path(file).suffix}" for at, file in enumerate(files, 1)] if pseudonym else files
    return {
        "name": pseudonym or program.name,
        **({} if pseudonym else {"people": sorted(program.people)}),
        "files": shown,
        "hashes": list(own),
        "places": [[files.index(place.file), place.line, place.last] for place in own.values()],
    }


def _pseudonyms(programs: Sequence[Print], run: Path) -> dict[str, str]:
    """Made-up names by submission; those that the run has already stay."""
    file = run / "secret/fingerprint_names.csv"
    known: dict[str, str] = {}
    if file.is_file():
        with file.open(encoding="utf-8", newline="") as opened:
            known = {row["submission"]: row["name"] for row in csv.DictReader(opened)}
    for program in programs:
        known.setdefault(program.name, f"student-{secrets.token_hex(4)}")
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows([("submission", "name"), *sorted(known.items())])
    file.parent.mkdir(mode=0o700, exist_ok=True)
    _write_private(file, rows.getvalue())
    return known


def _write_private(file: Path, text: str) -> None:
    """Whole or not at all, readable by its owner alone."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, encoding="utf-8", delete=False) as written:
        written.write(text)
    Path(written.name).replace(file)
