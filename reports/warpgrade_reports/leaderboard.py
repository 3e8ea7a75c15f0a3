"""`python -m warpgrade_reports.leaderboard BOARD.json --output FILE.html`: the class's anonymous list.

The page needs nothing beside it and is put in place whole: a web server may show its folder while it is written anew.
Reads warpgrade.leaderboard.v1, which holds pseudonyms and no person. Exit 0: done; 1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from warpgrade_reports import format as fmt
from warpgrade_reports.feedback import environment, scrolling_tables
from warpgrade_reports.source import ReportInputError, read_node

_TEMPLATES = Path(__file__).parent / "templates"
_ROWS_OF_CASES, _LEAST_OF_A_CASE = 1000, 20


def languages_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Where more than one language is on the list: each one's own order, the place by name.

    A place that the whole list shares is shared here too.
    """
    found: dict[str, dict[str, int]] = {}
    ranks: dict[str, list[int]] = {}
    for row in rows:
        language = row.get("language", "")
        before = ranks.setdefault(language, [])
        before.append(row["rank"])
        found.setdefault(language, {})[row["name"]] = before.index(row["rank"]) + 1
    return found if len(found) > 1 else {}


def share_text(value: float | None) -> str:
    """A share of the limit in percent."""
    return fmt.UNKNOWN if value is None else f"{100 * value:.0f} %"


def _first_of_cases(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each case's list as the page has it: of a large class the first places, since all of them open on no phone."""
    most = max(_LEAST_OF_A_CASE, _ROWS_OF_CASES // max(1, len(cases)))
    return [{**case, "rows": case["rows"][:most], "all": len(case["rows"])} for case in cases]


def render_leaderboard(board: dict[str, Any]) -> str:
    """The page."""
    best = [
        max((row["speedups"][i] for row in board["rows"] if row["speedups"][i] is not None), default=None)
        for i in range(len(board["titles"]))
    ]
    return scrolling_tables(
        environment(html=True)
        .get_template("leaderboard.html.j2")
        .render(
            board={**board, "cases": _first_of_cases(board.get("cases") or ())},
            best=best,
            languages=languages_of(board["rows"]),
            with_share=any(isinstance(row.get("share"), int | float) for row in board["rows"]),
            share_text=share_text,
            ranked_by_speed=any(row.get("speed") for row in board["rows"]),
            style=Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
            script=Markup((_TEMPLATES / "sort.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        )
    )


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.leaderboard", description="Renders the anonymous list.")
    parser.add_argument("board", type=Path, metavar="BOARD.json")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.html")
    options = parser.parse_args(arguments)
    try:
        node = read_node(options.board, "make it with `warpgrade export`")
        node.require_schema("warpgrade.leaderboard.v1")
        text = render_leaderboard(node.value)
        with tempfile.NamedTemporaryFile(
            "w", dir=options.output.parent, encoding="utf-8", errors="replace", delete=False
        ) as file:
            file.write(text)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(options.output)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {options.output}: {error.strerror}; next: name another file with --output", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
