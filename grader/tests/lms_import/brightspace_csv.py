"""Brightspace: https://community.d2l.com/brightspace/kb/articles/3538-importing-grades."""

from __future__ import annotations

from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one, rows_of


def brightspace(file: Path, people: list[LmsPerson], item: str) -> dict[str, float]:
    """Points by key. Username or OrgDefinedId, or both, come first; '<item> Points Grade'; the line's end is marked."""
    header, *rows = rows_of(file.read_text(encoding="utf-8"))
    if header[0] not in {"OrgDefinedId", "Username"} or header[-1] != "End-of-Line Indicator":
        raise ImportRefusedError(f"header: {header}")
    if set(header) - {"OrgDefinedId", "Username"} != {f"{item} Points Grade", "End-of-Line Indicator"}:
        raise ImportRefusedError("do not import other options, such as a name or an address")
    points: dict[str, float] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        found = {
            one(people, of, cells[title])
            for title, of in (("OrgDefinedId", lambda p: p.id_number), ("Username", lambda p: p.login))
            if title in cells
        }
        (person,) = found
        if person is None:
            raise ImportRefusedError(f"nobody is {row}")
        if cells["End-of-Line Indicator"] != "#":
            raise ImportRefusedError("a line without its end")
        points[person.key] = float(cells[f"{item} Points Grade"])
    return points
