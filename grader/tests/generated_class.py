"""A class of any size with many kinds of trouble, in the form of an LMS's export, and what must come out of it.

The export, the roster and the archives in it are real files of the forms that the LMSs write. Sources are taken in
but not compiled: `records_of_verdicts` writes the records that a judge would have left. Seeded; the answer is
computed here, from the kinds of trouble and the rules alone.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import tarfile
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from platform_exports import HandIn, canvas, write

DEADLINE = datetime(2026, 3, 18, 22, 59, tzinfo=UTC)  # 23:59 in Berlin
FIRST = ["Ada", "Алан", "Zoë", "محمد", "美玲", "Siân", "Jürgen", "Nguyễn Thị", "שרה", "प्रिया", "Per-Åke", "J. R."]
LAST = ["Lovelace", "Тьюринг", "O'Brien", "الفارسي", "林", "van der Berg", "Müller", "Ánh", "כהן", "शर्मा", "Ó Sé", "Li"]
LATE = {"grace_minutes": 10, "percent_per_day": 10, "cap_percent": 50, "max_days": 7}
CASES = [
    {"id": "synth-uniform-k32", "dataset": "synth-uniform", "k": 32, "kind": "correctness", "set": "public"},
    {"id": "synth-hub-k32", "dataset": "synth-hub", "k": 32, "kind": "correctness", "set": "hidden"},
    {"id": "ddi-k32", "dataset": "ddi", "k": 32, "kind": "speed", "set": "stand-in"},
]
KINDS = (
    "fine", "slow", "absent", "grace", "late", "very_late", "extension", "team", "rar", "traversal", "nested",
    "attempts", "refused_last", "stranger", "namesake", "formula", "judge_fault", "override", "wrong", "compile_error",
    "not_implemented",
)  # fmt: skip
TIMED = {"grace", "late", "very_late", "extension"}  # of these an export must tell the time


@dataclass
class Person:
    """A student, what happened to them, and the answer: points and verdict."""

    id: str
    name: str
    email: str
    number: int  # Canvas' and Moodle's own
    kind: str
    team: str = ""
    points: float = 0
    verdict: str = "accepted"
    late_s: int | None = None
    attempts: list[bytes | str] = field(default_factory=list)  # archives in order; a word: a file of that name


def source(person: str, number: int = 1) -> bytes:
    """Never compiled here, different for everybody."""
    return f'#error "{person} {number}"\n'.encode()


def packed(name: str, content: bytes) -> bytes:
    """A zip of one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def tarred(name: str, content: bytes) -> bytes:
    """A .tar.gz of one file, as `warpgrade submit` makes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


class GeneratedClass:
    """`people` on the roster, `strangers` who are not; written by `write`."""

    def __init__(self, layout: str, seed: int, size: int = 200) -> None:
        self.layout, self.random = layout, random.Random(seed)
        self.people: list[Person] = []
        self.strangers: list[Person] = []
        timed = layout in {"gradescope", "blackboard", "brightspace"}
        kinds = [kind for kind in KINDS if timed or kind not in TIMED]
        if layout == "brightspace":  # which says no more of a person than the name
            kinds.remove("namesake")
        if layout in {"canvas", "moodle"}:  # one attempt is all that they export
            kinds = [kind for kind in kinds if kind not in {"attempts", "refused_last"}]
        numbers = self.random.sample(range(100_000, 999_999), size + 20)
        while len(self.people) < size:
            index = len(self.people)
            kind = kinds[index] if index < len(kinds) else self.random.choice(kinds)
            person = self._person(index, kind, numbers[index])
            if kind == "stranger":
                person.name, person.email = f"Unknown Person {index}", f"stranger{index}@elsewhere.org"
                self.strangers.append(person)
            self.people.append(person)
        self._pair_up()
        self.people = [person for person in self.people if person.kind != "stranger"]
        for person in [*self.people, *self.strangers]:
            self._answer(person)
        for members in self.teams().values():  # what one of them hands in counts for both
            for member in members[1:]:
                member.points, member.verdict, member.attempts = members[0].points, members[0].verdict, []

    def _person(self, index: int, kind: str, number: int) -> Person:
        name = (
            f"{self.random.choice(FIRST)} {self.random.choice(LAST)} {chr(65 + index // 26 % 26)}{chr(97 + index % 26)}"
        )
        if kind == "formula":
            name = f"=SUM(A1) {name}"
        return Person(f"u{index:04d}", name, f"u{index:04d}@example.edu", number, kind)

    def _pair_up(self) -> None:
        """Two of one name; two of one team."""
        for kind in ("namesake", "team"):
            found = [person for person in self.people if person.kind == kind]
            for first, second in zip(found[::2], found[1::2], strict=False):
                if kind == "namesake":
                    second.name = first.name
                else:
                    first.team = second.team = f"team {first.id}"
            if len(found) % 2:
                found[-1].kind = "fine"

    def teams(self) -> dict[str, list[Person]]:
        """Members by team."""
        teams: dict[str, list[Person]] = {}
        for person in self.people:
            if person.team:
                teams.setdefault(person.team, []).append(person)
        return teams

    def _answer(self, person: Person) -> None:
        kind, good = person.kind, tarred("spmm/spmm.cu", source(person.id))
        person.attempts = [good]
        person.points = {"slow": 40.0, "wrong": 80 / 3, "compile_error": 0.0, "not_implemented": 0.0}.get(kind, 100.0)
        person.verdict = {"wrong": "wrong_answer"}.get(kind, kind) if person.points < 40 else "accepted"
        if kind == "absent":
            person.attempts, person.points, person.verdict = [], 0, "not_submitted"
        elif kind == "rar":
            person.attempts, person.points, person.verdict = ["hand-in.rar"], 0, "refused"
        elif kind == "traversal":
            person.attempts, person.points, person.verdict = [tarred("../../escaped.cu", b"x")], 0, "refused"
        elif kind == "nested":
            person.attempts = [packed("spmm-submission.tar.gz", good)]
        elif kind == "attempts":
            person.attempts = [tarred("spmm.cu", source(person.id, 0)), good]
        elif kind == "refused_last":
            person.attempts = [good, "hand-in.rar"]
        elif kind == "judge_fault":
            person.verdict = "not_run"
        elif kind == "override":
            person.points = 61.5
        elif kind in {"grace", "late", "very_late"}:
            person.late_s = {"grace": 300, "late": 90_000, "very_late": 8 * 86_400}[kind]
            person.points = {"grace": 100.0, "late": 80.0, "very_late": 0.0}[kind]

    # ---- the export and the roster

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Writes both; returns the export and the roster."""
        export = folder / "export"
        export.mkdir(parents=True)
        getattr(self, f"_write_{self.layout}")(export)
        roster = folder / "roster.csv"
        with roster.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(getattr(self, f"_roster_{self.layout}")())
        return export, roster

    def _handing_in(self) -> list[Person]:
        people = [person for person in [*self.people, *self.strangers] if person.attempts]
        self.random.shuffle(people)
        return people

    def _put(self, path: Path, attempt: bytes | str, name: str = "hand-in") -> Path:
        """Puts the archive under the path's name; returns it."""
        content = b"Rar!\x1a\x07" if isinstance(attempt, str) else attempt
        ending = ".rar" if isinstance(attempt, str) else ".zip" if content[:2] == b"PK" else ".tar.gz"
        path = path / f"{name}{ending}" if path.is_dir() else path.with_name(path.name + ending)
        path.write_bytes(content)
        return path

    def _write_gradescope(self, export: Path) -> None:
        lines, number = ["---"], 1000
        for person in self._handing_in():
            for index, attempt in enumerate(person.attempts):
                number += 1
                (export / f"submission_{number}").mkdir()
                self._put(export / f"submission_{number}", attempt)
                at = DEADLINE + timedelta(seconds=person.late_s or -3600 + 60 * index)
                if person.kind == "extension":
                    at = DEADLINE + timedelta(days=1)
                lines += [
                    f"submission_{number}:",
                    f"  :created_at: {at:%Y-%m-%d %H:%M:%S}.000000000 Z",
                    "  :submitters:",
                ]
                for member in self.teams().get(person.team, [person]):
                    known = member.kind != "stranger"
                    lines.append(f"  - :name: {json.dumps(member.name, ensure_ascii=False)}")
                    lines += [f"    :sid: '{member.id if known else ''}'", f"    :email: {member.email.upper()}"]
        (export / "submission_metadata.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _roster_gradescope(self) -> list[list[str]]:
        rows = [["Student ID", "Name", "Email", "Deadline"]]
        for person in self.people:
            extended = "2026-03-20 23:59" if person.kind == "extension" else ""  # on the course's clocks
            rows.append([person.id, person.name, person.email, extended])
        return rows

    def _write_canvas(self, export: Path) -> None:
        hand_ins = []
        for person in self._handing_in():
            first, last = person.name.rsplit(" ", 1)
            attempt = person.attempts[0]
            content = b"Rar!\x1a\x07" if isinstance(attempt, str) else attempt
            ending = ".rar" if isinstance(attempt, str) else ".zip" if content[:2] == b"PK" else ".tar.gz"
            files = {f"my_work{ending}": content}
            if not isinstance(attempt, str) and self.random.random() < 0.3:  # a second file of the same hand-in
                files["report.pdf"] = b"%PDF"
            hand_ins.append(HandIn(first, last, "", person.number, files))
        write(export, canvas(hand_ins))

    def _roster_canvas(self) -> list[list[str]]:
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "team", "Old lab (17)"]]
        rows.append(["    Points Possible", "", "", "", "", "", "10"])
        for person in self.people:
            first, last = person.name.rsplit(" ", 1)
            login = f"login-{person.id}"
            rows.append([f"{last}, {first}", str(person.number), person.id, login, "Sec 1", person.team, "3"])
        rows.append(["Student, Test", "1", "", "0123", "Sec 1", "", ""])
        return rows

    def _write_moodle(self, export: Path) -> None:
        for index, person in enumerate(self._handing_in()):
            suffix = ("_assignsubmission_file_", "_assignsubmission_file", "")[index % 3]
            folder = export / f"{person.name}_{person.number}{suffix}"
            folder.mkdir()
            self._put(folder, person.attempts[0])

    def _roster_moodle(self) -> list[list[str]]:
        rows = [["Identifier", "Full name", "ID number", "Email address", "Status", "team"]]
        for person in self.people:
            status = "Submitted" if person.attempts else "No submission"
            identifier = f"Participant {person.number}"
            rows.append([identifier, person.name, person.id, person.email, status, person.team])
        return rows

    def _handed_in_at(self, person: Person, index: int) -> datetime:
        """On the clocks of Berlin, an hour ahead of UTC in March."""
        at = DEADLINE + timedelta(seconds=person.late_s or -3600 + 60 * index, hours=1)
        return at + timedelta(days=1, hours=1) if person.kind == "extension" else at

    def _write_blackboard(self, export: Path) -> None:
        for person in self._handing_in():
            for index, attempt in enumerate(person.attempts):
                login = person.email if person.kind == "stranger" else f"login-{person.id}"
                stem = f"Lab 1_{login}_attempt_{self._handed_in_at(person, index):%Y-%m-%d-%H-%M-%S}"
                (export / f"{stem}.txt").write_text(f"Name: {person.name} ({login})\n", encoding="utf-8")
                self._put(export / f"{stem}_hand in", attempt)

    def _roster_blackboard(self) -> list[list[str]]:
        rows = [["Last Name", "First Name", "Username", "Student ID", "Availability", "team", "Deadline"]]
        for person in self.people:
            first, last = person.name.rsplit(" ", 1)
            extended = "2026-03-20 23:59" if person.kind == "extension" else ""
            rows.append([last, first, f"login-{person.id}", person.id, "Yes", person.team, extended])
        return rows

    def _write_brightspace(self, export: Path) -> None:
        (export / "index.html").write_text("<html></html>", encoding="utf-8")
        for person in self._handing_in():
            for index, attempt in enumerate(person.attempts):
                at = self._handed_in_at(person, index)
                when = f"{at:%b} {at.day}, {at.year} {at.hour % 12 or 12}{at:%M} {'PM' if at.hour >= 12 else 'AM'}"
                stem = export / f"{person.number}-96739 - {person.name} - {when}"
                if self.random.random() < 0.5:
                    stem.mkdir()
                    self._put(stem, attempt)
                else:
                    self._put(stem.with_name(f"{stem.name} - my - hand-in"), attempt)

    def _roster_brightspace(self) -> list[list[str]]:
        rows = [["OrgDefinedId", "Username", "Last Name", "First Name", "Email", "team", "Deadline"]]
        for person in self.people:
            first, last = person.name.rsplit(" ", 1)
            extended = "2026-03-20 23:59" if person.kind == "extension" else ""
            login = f"#login-{person.id}"
            rows.append([f"#{person.id}", login, last, first, person.email, person.team, extended])
        return rows

    def _write_autolab(self, export: Path) -> None:
        for person in self._handing_in():
            for index, attempt in enumerate(person.attempts):
                self._put(export / f"{person.email}_{index + 1}_handin", attempt)

    def _roster_autolab(self) -> list[list[str]]:
        rows = [["id", "name", "email", "team"]]
        return rows + [[person.id, person.name, person.email, person.team] for person in self.people]

    def _write_folder(self, export: Path) -> None:
        for person in self._handing_in():
            folder = export / person.id
            folder.mkdir()
            for index, attempt in enumerate(person.attempts):
                if len(person.attempts) > 1:
                    folder = export / person.id / f"attempt-{index + 1}"
                    folder.mkdir()
                self._put(folder, attempt)

    _roster_folder = _roster_autolab


def canonical(record: dict[str, Any]) -> str:
    """JSON as records are hashed."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sealed(record: dict[str, Any]) -> str:
    """The record's line, with the checksum of what it says."""
    unsealed = {key: value for key, value in record.items() if key != "checksum"}
    return canonical(unsealed | {"checksum": hashlib.sha256(canonical(unsealed).encode()).hexdigest()}) + "\n"


def record_of(run: dict[str, Any], submission: dict[str, Any], case: dict[str, Any], verdict: str, ratio: float) -> str:
    """A sealed record."""
    record = {
        "schema": "warpgrade.case.v1",
        "run": run["run"],
        "submission": {"id": submission["id"]},
        "case": case,
        "outcome": {"verdict": verdict},
        "wall_s": 1.5,
    }
    if case["kind"] == "speed" and verdict == "accepted":
        record["ratios"] = {"cusparse_default": {"median": ratio, "low": ratio * 0.98, "high": ratio * 1.02}}
    return sealed(record)


def judge(folder: Path, people: list[Person]) -> None:
    """Writes what a judge with a GPU would have left of this class: run.json of three cases, and their records."""
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    run |= {"backend": "cuda", "cases": CASES, "speed_measured": True}
    (folder / "run.json").write_text(json.dumps(run, ensure_ascii=False), encoding="utf-8")
    kinds = {person.id: person.kind for person in people}
    for submission in run["submissions"]:
        kind = kinds.get(submission["student"], "fine")
        if "refused" in submission:
            kind = "compile_error"
        for index, case in enumerate(CASES):
            verdict = kind if kind in {"compile_error", "not_implemented"} else "accepted"
            if kind == "wrong" and index == 1:
                verdict = "wrong_answer"
            if kind == "judge_fault" and index == 1:
                continue  # which nobody has judged yet, as a fault leaves it
            path = folder / "cases" / submission["id"] / f"{case['id']}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            ratio = 0.2 if kind == "slow" else 3.0
            path.write_text(record_of(run, submission, case, verdict, ratio), encoding="utf-8")
