"""`python -m warpgrade_reports.leaderboard BOARD.json --output FILE.html`: the class's anonymous list.

Reads warpgrade.leaderboard.v1, which holds pseudonyms and no person. Exit 0: done; 1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from markupsafe import Markup

from warpgrade_reports.feedback import environment, scrolling_tables
from warpgrade_reports.source import ReportInputError, read_node

_TEMPLATES = Path(__file__).parent / "templates"


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
            board=board,
            best=best,
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
