"""`python -m warpgrade_reports.mutants REPORT.json --output FILE.html`: what a lab's cases do not see.

REPORT.json is what `warpgrade labs mutants LAB --json` prints; `--page FILE` of that command calls this. Exit 0: done;
1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from warpgrade_reports.feedback import asset, environment, scrolling_tables
from warpgrade_reports.source import Node, ReportInputError, read_node

_ADVICE = "make it with `warpgrade labs mutants LAB --json`"


@dataclass(frozen=True)
class Accepted:
    """A mutant that every case accepts and that changes an output."""

    place: str
    inlined_from: str
    source: str
    operator: str
    ordinal: int
    instruction: str
    passed: int
    shows_in: str
    is_wrong: bool
    reason: str


@dataclass(frozen=True)
class Unreached:
    """A line that no case gets to."""

    place: str
    source: str
    mutants: int


@dataclass(frozen=True)
class NeverLaunched:
    """A kernel that no case launches."""

    solution: str
    kernel: str
    mutants: int


@dataclass(frozen=True)
class Mutants:
    """What came of a lab's mutants."""

    lab: str
    seed: int
    toolkit: str
    shapes: int
    cases: tuple[str, ...]
    listed: int
    tried: int
    refused: int
    unchanged: int
    not_judged: int
    survivors: tuple[Accepted, ...]
    explained: tuple[Accepted, ...]
    unreached: tuple[Unreached, ...]
    never_launched: tuple[NeverLaunched, ...]

    @property
    def changing(self) -> int:
        """Mutants that change a bit of an output."""
        return self.refused + len(self.survivors) + len(self.explained)

    @property
    def share(self) -> str:
        """How many of these the cases refuse."""
        return f"{100 * self.refused / self.changing:.1f} %" if self.changing else "–"

    @property
    def wrong(self) -> int:
        """Survivors that a random shape refuses: cases are missing."""
        return sum(one.is_wrong for one in self.survivors)


def _place(mutant: Node) -> str:
    return f"{mutant.text('solution')}/{mutant.text('file')}:{mutant.required_integer('line')}"


def _accepted(mutant: Node) -> Accepted:
    return Accepted(
        place=_place(mutant),
        inlined_from=mutant.optional_text("inlined_from"),
        source=mutant.optional_text("source"),
        operator=mutant.text("operator"),
        ordinal=mutant.required_integer("ordinal"),
        instruction=mutant.text("instruction"),
        passed=len(mutant.value.get("passed") or ()),
        shows_in=mutant.optional_text("shows_in"),
        is_wrong=bool(mutant.flag("wrong")),
        reason=mutant.optional_text("reason"),
    )


def _unreached(report: Node) -> tuple[Unreached, ...]:
    counted: Counter[tuple[str, str]] = Counter(
        (_place(one), one.optional_text("source")) for one in report.children("unreached", required=True)
    )
    return tuple(Unreached(place, source, mutants) for (place, source), mutants in counted.items())


def read_mutants(file: Path) -> Mutants:
    """Reads the report. Raises ReportInputError naming the file and what is wrong."""
    report = read_node(file, _ADVICE)
    report.require_schema("warpgrade.mutants.v1")
    survivors = [_accepted(one) for one in report.children("survivors", required=True)]
    return Mutants(
        lab=report.text("lab"),
        seed=report.required_integer("seed"),
        toolkit=report.optional_text("toolkit"),
        shapes=report.required_integer("shapes"),
        cases=tuple(str(case) for case in report.value.get("cases") or ()),
        listed=report.required_integer("listed"),
        tried=report.required_integer("tried"),
        refused=report.required_integer("refused"),
        unchanged=len(list(report.children("unchanged", required=True))),
        not_judged=len(list(report.children("not_judged", required=True))),
        survivors=tuple(sorted(survivors, key=lambda one: not one.is_wrong)),
        explained=tuple(_accepted(one) for one in report.children("explained", required=True)),
        unreached=_unreached(report),
        never_launched=tuple(
            NeverLaunched(one.text("solution"), one.text("kernel"), one.required_integer("mutants"))
            for one in report.children("never_launched")
        ),
    )


def render(mutants: Mutants) -> str:
    """The page."""
    template = environment(html=True).get_template("mutants.html.j2")
    return scrolling_tables(template.render(mutants=mutants, style=asset("style.css")))


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.mutants", description="Renders what cases do not see.")
    parser.add_argument("report", type=Path, metavar="REPORT.json", help="what `labs mutants LAB --json` prints")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.html")
    options = parser.parse_args(arguments)
    try:
        text = render(read_mutants(options.report))
        options.output.write_text(text, encoding="utf-8", errors="replace")
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {options.output}: {error.strerror}; next: name another file", file=sys.stderr)
        return 1
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
