"""Who in a class needs a person: what `warpgrade export` tells of each student, sorted by what is to be done.

Reads warpgrade.people.v1: {made_from, people: [{id, name, email, points, max_points, verdict, page, late, refusal,
no_source, no_kernel, cpu_only, near, claimed_time, journey, appeal, on_roster, overridden, reason, submission}]};
fields that do not apply are absent. `no_kernel`, `cpu_only` and `near` are lists of cases; `journey` is that of
scores.json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgrade_reports.class_stats import Doubt
from warpgrade_reports.similarity import Pointer
from warpgrade_reports.source import read_node
from warpgrade_reports.text import plain_line

Person = dict[str, Any]
_MOST_NAMED = 12  # of a reason, on a terminal


@dataclass(frozen=True)
class Item:
    """A name, where it leads, and what there is to know."""

    name: str
    link: str
    note: str


@dataclass(frozen=True)
class Need:
    """A reason why a person has to look, and whom it is about."""

    anchor: str
    title: str
    advice: str
    items: tuple[Item, ...]


def read_people(file: Path | None) -> tuple[list[Person], str]:
    """The students and what their points were made from; nobody of no file."""
    if file is None:
        return [], ""
    node = read_node(file, "make it with `warpgrade export`")
    node.require_schema("warpgrade.people.v1")
    return list(node.value["people"]), str(node.value.get("made_from", ""))


def link_of(person: Person) -> str:
    """The student's page; of one who has none the mail to write, or the line in the table."""
    if person.get("page"):
        return str(person["page"])
    return f"mailto:{person['email']}" if person.get("email") else f"#student-{person['row']}"


def _item(person: Person, note: str = "") -> Item:
    return Item(person.get("name") or person["id"], link_of(person), note)


def needs_of(people: Sequence[Person], doubts: Sequence[Doubt], pointers: Sequence[Pointer]) -> list[Need]:
    """What a person has to look at, most pressing first; reasons that concern nobody are left out."""

    def those(fits: Callable[[Person], object], note: Callable[[Person], str]) -> tuple[Item, ...]:
        return tuple(_item(person, note(person)) for person in people if fits(person))

    owners = {person["submission"]: person for person in people if person.get("submission")}

    def owner(submission: str, title: str) -> Item:
        person = owners.get(submission)
        return _item(person) if person else Item(title, "#person", "")

    def other(pointer: Pointer) -> str:
        origin = pointer.other.origin
        return f"{pointer.second} of {origin}" if origin else owner(pointer.second, pointer.second).name

    def cases(field: str) -> tuple[Item, ...]:
        return those(lambda p: p.get(field), lambda p: ", ".join(p[field]))

    faults = [(owner(d.submission.id, d.submission.title), d) for d in doubts]
    alike = [(owner(p.first, p.first), other(p)) for p in pointers]
    needs = [
        Need("appeals", "Appeals", "A student asks for another look; `warpgrade grades appeal --close` answers.",
             those(lambda p: p.get("appeal"), lambda p: p["appeal"])),
        Need("refused", "Refused", "Nothing of theirs was judged: tell them, or take the hand-in by hand.",
             those(lambda p: p["verdict"] == "refused", lambda p: p.get("refusal", ""))),
        Need("no-source", "No source", "The hand-in holds no program: the student may have sent the wrong files.",
             those(lambda p: p.get("no_source"), lambda p: p["no_source"])),
        Need("absent", "Not handed in", "No hand-in was found.",
             those(lambda p: p["verdict"] == "not_submitted", lambda _: "")),
        Need("no-kernel", "No kernel", "These cases launched no kernel: the work was done on the CPU.",
             cases("no_kernel")),
        Need("cpu-only", "CPU only", "The host wrote the outputs last, whatever was launched before.",
             cases("cpu_only")),
        Need("faults", "Judge faults", "The judge failed at a case: see below what it met.",
             tuple(Item(item.name, item.link, d.case + (", no points for it" if d.costs else ", no points are lost"))
                   for item, d in faults)),
        Need("near", "Near a threshold", "Another run may decide otherwise: `warpgrade regrade` measures again.",
             cases("near")),
        Need("alike", "Look-alikes", "Their code shares stretches: pointers, not verdicts; see below.",
             tuple(Item(a.name, a.link, f"and {b}") for a, b in alike)),
        Need("whole", "Arrived whole",
             "All of the work came in one version that is right. This says nothing about who wrote it: ask.",
             those(lambda p: p.get("journey", {}).get("arrived_whole"), lambda _: "")),
        Need("claimed", "Time not confirmed", "It is a commit's: `batch --confirm-time` takes or corrects it.",
             those(lambda p: p.get("claimed_time"), lambda p: p["claimed_time"])),
        Need("late", "Late", "The policy took points off, or would have without grace.",
             those(lambda p: p.get("late"), lambda p: p.get("late", ""))),
        Need("strangers", "Not on the roster", "They handed in, and courseware may not know them.",
             those(lambda p: not p.get("on_roster", True), lambda p: p["id"])),
        Need("by-hand", "Grades set by hand", "A person decided; the gradebook's history has the reason.",
             those(lambda p: p.get("overridden"), lambda p: p.get("reason", ""))),
    ]  # fmt: skip
    return [need for need in needs if need.items]


def text_of(needs: Sequence[Need], *, most: int = _MOST_NAMED) -> str:
    """A paragraph a reason; a long list ends with how many more there are."""
    if not needs:
        return "nobody in this class needs a person\n"
    lines = []
    for need in needs:
        lines.append(f"{need.title} ({len(need.items)}): {need.advice}")
        for item in need.items[:most]:
            text = f"{item.name}: {item.note}" if item.note else item.name
            lines.append("  " + plain_line(text))
        if len(need.items) > most:
            lines.append(f"  and {len(need.items) - most} more")
    return "\n".join(lines) + "\n"
