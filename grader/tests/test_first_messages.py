"""first_messages.yaml: each classic mistake, and the first thing that a student is told of it on the emulator."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, Words, declared_labs, records_of, warpgrade
from corpus import BACKEND, policy_for

TABLE = Path(__file__).parent / "first_messages.yaml"
LEAST = 12  # mistakes that the table has of a lab

pytestmark = pytest.mark.skipif(BACKEND != "emulator", reason="a GPU finds no causes")


@dataclass(frozen=True)
class Mistake:
    """One row of the table."""

    lab: str
    case: str
    mistake: str
    of: str
    change: dict[str, str]
    line: str
    says: list[str]
    verdict: str = "accepted"
    reason: str | None = None
    lines_near: int = 0  # the compiler gives one of so many lines behind `line`

    @property
    def folder(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.mistake)[:60].strip("-")

    @property
    def file(self) -> str:
        return f"{self.lab}.cu"

    def source(self) -> str:
        """The right solution with the mistake in it."""
        text = (ROOT / self.of).read_text(encoding="utf-8")
        for right, wrong in self.change.items():
            assert text.count(right) >= 1, f"{self.of} does not hold {right!r}"
            text = text.replace(right, wrong, 1)
        return text

    def places(self) -> set[int]:
        """The lines that the first message may name; empty for a cause without a line."""
        if self.line == "none":
            return set()
        lines = self.source().splitlines()
        first = [number for number, line in enumerate(lines, 1) if self.line in line]
        assert len(first) == 1, f"{self.line!r} stands on lines {first}"
        return set(range(first[0], first[0] + self.lines_near + 1))


def read_table() -> list[Mistake]:
    table: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [
        Mistake(**{"lab": lab, "case": part["case"], **row}) for lab, part in table.items() for row in part["mistakes"]
    ]


MISTAKES = read_table()


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """Judges all of them, a class for each lab and case; the record by lab and folder."""
    records: dict[tuple[str, str], dict[str, Any]] = {}
    for lab, case in dict.fromkeys((mistake.lab, mistake.case) for mistake in MISTAKES):
        scratch = tmp_path_factory.mktemp(lab)
        chosen = [mistake for mistake in MISTAKES if (mistake.lab, mistake.case) == (lab, case)]
        for mistake in chosen:
            folder = scratch / "class" / mistake.folder
            folder.mkdir(parents=True)
            for header in (ROOT / mistake.of).parent.glob("*.cuh"):
                shutil.copy(header, folder)
            (folder / mistake.file).write_text(mistake.source(), encoding="utf-8")
        arguments: Words = ["--lab", lab, "--run", scratch / "run", "--backend", "emulator", "--no-speed"]
        arguments += ["--cases", case, "--policy", policy_for(lab, scratch)]
        done = warpgrade("grade", scratch / "class", *arguments, timeout=1500)
        assert done.returncode == 0, done.stdout + done.stderr
        records |= {(lab, record["submission"]["id"]): record for record in records_of(scratch / "run")}
    return records


def examine(mistake: Mistake, record: dict[str, Any]) -> None:
    """The mistake's record says what the table says of it; else an AssertionError."""
    outcome, findings = record["outcome"], record.get("diagnostics", [])
    # On some hidden values a race leaves a right answer: then its finding stands beside `accepted`.
    lucky = mistake.verdict == "wrong_answer" and bool(findings) and "race" in findings[0]["kind"]
    assert outcome["verdict"] in {mistake.verdict, "accepted" if lucky else mistake.verdict}, (outcome, findings)
    assert mistake.reason in (None, outcome.get("reason")), outcome
    message = findings[0]["message"] if outcome["verdict"] == "accepted" else outcome["message"]
    for words in mistake.says:
        assert words in message, outcome
    if places := mistake.places():
        assert findings[0]["file"] == mistake.file, findings
        inlined = re.search(rf"inlined from {mistake.file}:(\d+)", findings[0]["message"])
        assert {findings[0]["line"], int(inlined[1]) if inlined else 0} & places, (places, findings)
        place = f"{mistake.file}:{findings[0]['line']}: "
        assert outcome["verdict"] == "accepted" or outcome["message"].startswith(place), outcome


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.lab}-{mistake.folder}")
def test_first_message_names_the_line_or_the_cause(
    mistake: Mistake, told: dict[tuple[str, str], dict[str, Any]]
) -> None:
    examine(mistake, told[mistake.lab, mistake.folder])


# A declared lab's judge is one for all of them; its messages have tests of their own.
WRITTEN = {path.stem for path in (ROOT / "grader/policies").glob("*.yaml")} - declared_labs()


@pytest.mark.parametrize("lab", sorted(WRITTEN))
def test_the_table_has_enough_mistakes_of_each_lab(lab: str) -> None:
    assert sum(mistake.lab == lab for mistake in MISTAKES) >= LEAST
