"""`python -m warpgrade_reports.feedback VIEWS.jsonl --output DIR`: a folder a student, as HTML and Markdown.

Reads feedback views (warpgrade.feedback.v1, made by `warpgrade export`) and nothing else: a view holds what policy lets
the student see, so a page cannot show more. A view is a line, or begins at a line's first letter and ends with the
next `}` that stands there. Exit 0: done; 1: the input cannot be rendered; 2: the pages of somebody could not be made,
the others' are.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from warpgrade_reports import attempts, heat, ranks, svg
from warpgrade_reports import format as fmt
from warpgrade_reports.inject import inject
from warpgrade_reports.publishing import publish, refuse_strangers, sweep
from warpgrade_reports.source import ReportInputError, parse_node
from warpgrade_reports.text import is_plain_json, lines_of, plain_line, problem_of
from warpgrade_reports.verdicts import THRESHOLD_LABELS, style_of
from warpgrade_reports.view_charts import View, speed_charts
from warpgrade_reports.workers import in_processes, processes_for

_TEMPLATES = Path(__file__).parent / "templates"
_SCHEMA = "warpgrade.feedback.v1"
_STEP = "make the views with `warpgrade export`"
_TIMES = '"us": ['
_NUMBER = r"\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\s*"
_NUMBERS = re.compile(f"{_NUMBER}(?:,{_NUMBER})*", re.ASCII)
_ALONE = 8  # pages that one process makes sooner than several start
_LISTED = ("file", "lab", "run", "person", "points", "verdict")  # what the staff's index has of a view

NOT_MADE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Feedback</title></head>
<body><p>This page could not be made. Your grade does not depend on it. Please tell the course's staff.</p></body>
</html>
"""


class _Place(NamedTuple):
    """Where a view's text stands: its first line, from 1, and its bytes."""

    line: int
    begin: int
    end: int


def _places_of(views: Path) -> list[_Place]:
    """Each view's place. Lines are not read one by one: those of a class are millions."""
    try:
        with views.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return list(_places_in(text))
    except ValueError:  # an empty file cannot be mapped
        return []
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(str(views), f"expected a readable file, got: {reason}", _STEP) from error


def _places_in(text: mmap.mmap) -> Iterator[_Place]:
    line, begin = 1, 0
    while begin < len(text):
        many = text[begin : begin + 2] == b"{\n"
        end = text.find(b"\n", text.find(b"\n}", begin) + 1 or len(text)) if many else text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        if text[begin:end].strip():
            yield _Place(line, begin, end)
        line += text[begin : end + 1].count(b"\n")
        begin = end + 1


class ViewReader:
    """Reads views. The class's times are half of each and the same in all: a list of them is read once."""

    def __init__(self) -> None:
        self._lists: dict[str, list[float]] = {}  # by their text

    def view(self, text: str, place: str) -> View:
        """The view of this text; raises ReportInputError naming its place."""
        lists = []
        parts = text.split(_TIMES)  # no text of JSON holds it: a quote is escaped there
        for number, part in enumerate(parts[1:], 1):
            times, bracket, rest = part.partition("]")
            if not bracket or not self._is_known(times):
                return _view_of(text, place)
            parts[number] = f'"us": {number - 1}{rest}'
            lists.append(self._lists[times])
        view = _view_of("".join(parts), place)
        cases = view.get("class_times")
        told = [case for case in cases.values() if _is_told(case)] if isinstance(cases, dict) else []
        if len(told) != len(lists):
            return _view_of(text, place)
        for case in told:
            case["us"] = lists[case["us"]]
        return view

    def _is_known(self, times: str) -> bool:
        """Whether it is what a list of numbers has between its brackets."""
        if times not in self._lists:
            if not _NUMBERS.fullmatch(times):
                return False
            self._lists[times] = json.loads(f"[{times}]")
        return True


def _is_told(case: object) -> bool:
    return isinstance(case, dict) and type(case.get("us")) is int


def _view_of(text: str, place: str) -> View:
    view = parse_node(text, place, _STEP).value
    if view.get("schema") != _SCHEMA or "file" not in view:
        raise ReportInputError(place, f"expected a view of schema {_SCHEMA}", _STEP)
    return view


def _own_text(view: View, text: str) -> str:
    """The view as its student gets it: as it was written, but for the folder's name. To write it anew takes longer."""
    name = f'\n "file": {json.dumps(view["file"])},'
    if text.count(name) == 1 and is_plain_json(text):
        return text.replace(name, "") + "\n"
    own = {key: value for key, value in view.items() if key != "file"}
    return json.dumps(own, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


_OF_DICTS = frozenset(dir(dict))


class _Environment(jinja2.Environment):
    """Of an object of JSON its field is meant: to look for an attribute first takes a fifth of a page's time."""

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401
        """`obj.attribute` of a template."""
        if type(obj) is dict:
            if attribute in obj:
                return obj[attribute]
            if attribute not in _OF_DICTS:
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)


@lru_cache(100)
def _chip(verdict: str) -> Markup:
    """A verdict with its letter and colour."""
    style = style_of(verdict)
    chip = Markup('<span class="chip v-{}" title="{}"><b>{}</b> {}</span>')
    return chip.format(style.name, style.meaning, style.letter, style.label)


@cache
def environment(*, html: bool) -> jinja2.Environment:
    """The templates; a page escapes every text, Markdown only where the template asks for it."""
    found = _Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=html,  # Markdown is no HTML; the filter md escapes there
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.ChainableUndefined,
    )
    # What tables call in each row is a filter: a template calls a function by a long way.
    found.filters.update(md=fmt.markdown, plain=plain, chip=_chip, ratio=fmt.ratio, percent=fmt.percent)
    found.filters.update(bounds=_bounds, threshold=_threshold, verdict=_verdict)
    found.globals.update(fmt=fmt, style_of=style_of, plain=plain, lines_of=lines_of)
    return found


def plain(points: float | None) -> str:
    """Points without idle zeros."""
    return fmt.trimmed(f"{points:.2f}") if isinstance(points, int | float) else fmt.UNKNOWN


def _failures(view: View) -> list[dict[str, Any]]:
    """The open cases that were not accepted, each mistake once with all of its cases; a refusal is explained once."""
    if view.get("refusal"):
        return []
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for case in view["cases"]:
        if case["open"] and case["verdict"] != "accepted":
            places = [f"{d.get('kind')} {d.get('file')} {d.get('line')}" for d in case.get("diagnostics", [])]
            # Figures in a message differ from case to case; the mistake does not.
            words = re.sub(r"[-+]?\d[\d.,e+-]*", "#", case.get("message") or "").replace(case["id"], "")
            key = (case["verdict"], case.get("reason") or "", words if not places else "", *places)
            found.setdefault(key, {**case, "cases": []})["cases"].append(case["id"])
    return list(found.values())


def _problems(view: View) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for case in view["cases"]:
        for finding in case.get("findings", []):
            problem = problem_of(finding)
            told = {**finding, "problem": problem, "case": case["id"]}
            found.setdefault((problem, finding.get("kernel", "")), told)
    return list(found.values())


def _mends(view: View) -> list[dict[str, Any]]:
    """What the emulator found in open cases that were accepted all the same, each mistake once."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for case in view["cases"]:
        for finding in case.get("diagnostics", []) if case["verdict"] == "accepted" else []:
            place = (finding.get("kind") or "", finding.get("file") or "", finding.get("line") or 0)
            found.setdefault(place, {**finding, "case": case["id"]})
    return list(found.values())


def _cell_of(view: View, mismatch: dict[str, Any]) -> str:
    """The wrong cell with its array's name: the mismatch's own, else the lab's."""
    place = mismatch.get("index") or [mismatch.get("row"), mismatch.get("col")]
    return fmt.cell(mismatch.get("output") or view.get("terms", {}).get("output") or "output", place)


def _bounds(ratio: dict[str, Any]) -> str:
    """An interval's ends."""
    return fmt.bounds_of(ratio.get("low"), ratio.get("high"))


def _threshold(status: str) -> str:
    """How a threshold was met, in words."""
    return THRESHOLD_LABELS.get(status, status)


def _verdict(verdict: str) -> str:
    """A verdict in words."""
    return style_of(verdict).label


def _context(view: View) -> dict[str, Any]:
    """What both templates show."""
    person, submission = view["person"], view.get("submission", {})
    facts = [("run", view["run"]), ("student", person["id"])]
    facts += [(key, str(submission[key])) for key in ("team", "attempt", "interface") if submission.get(key)]
    if str(submission.get("interface", "")).endswith(".py"):
        facts.append(("language", "Python"))
    if submission.get("submitted_at"):
        facts.append(("handed in", submission.get("submitted_text") or submission["submitted_at"]))
    if submission.get("hash"):
        facts.append(("source", submission["hash"][:12]))
    return {
        "v": view,
        "cell_of": partial(_cell_of, view),
        "name": person.get("name") or person["id"],
        "facts": facts,
        "failures": _failures(view),
        "problems": _problems(view),
        "mends": _mends(view),
        "hidden": view.get("hidden", {}),
        "listed_hidden": any(not case["open"] for case in view["cases"]),
        "limited": view.get("speed_measured") and any("limit" in case for case in view["cases"]),
    }


def scrolling_tables(page: str) -> str:
    """The page with each table in a box of its own, which scrolls where the window is narrower than the table."""
    page = page.replace("<table", '<div class="scroll" tabindex="0"><table')
    return page.replace("</table>", "</table></div>")


def asset(name: str) -> Markup:
    """A style sheet or a script of the templates, as it stands in a page."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


@cache
def _style() -> str:
    return (_TEMPLATES / "style.css").read_text(encoding="utf-8")


def _attempts(view: View) -> Markup:
    """The student's own attempts as a table of gains; nothing of a single one."""
    found = attempts.own_heat(view)
    if found is None:
        return Markup()
    table, shades = found
    legend = heat.legend([*shades.legend(), (None, "not measured")])
    return Markup(scrolling_tables(legend + heat.draw(table)))  # noqa: S704 - heat.py escapes every text


def render_html(view: View) -> str:
    """The student's page; its template has scrolling tables itself, since a page is long and has few."""
    return (
        environment(html=True)
        .get_template("feedback.html.j2")
        .render(
            **_context(view),
            style=Markup(_style()),  # noqa: S704 - our own file
            attempts=_attempts(view),
            ranks=Markup(ranks.draw(ranks.ranks_of_view(view))),  # noqa: S704 - ranks.py escapes every text
            figures=[Markup(svg.draw(chart, folds=True)) for chart in speed_charts(view)],  # noqa: S704 - svg.py escapes every text
        )
    )


def render_markdown(view: View) -> str:
    """The same as Markdown."""
    return environment(html=False).get_template("feedback.md.j2").render(**_context(view))


def write_student(view: View, text: str, folder: Path) -> None:
    """Writes one student's folder: index.html, feedback.md, feedback.json."""
    inject("report", view.get("submission", {}).get("id", ""))
    folder.mkdir()
    texts = {
        "index.html": render_html(view),
        "feedback.md": render_markdown(view),
        "feedback.json": _own_text(view, text),
    }
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8", errors="replace", newline="\n")


def _try_student(view: View, text: str, folder: Path) -> str:
    """Writes the student's folder; else a page that says so, and what went wrong. A full disk is everybody's matter."""
    try:
        if view.get("trouble"):
            raise ReportInputError("the view", view["trouble"], _STEP)
        write_student(view, text, folder)
    except OSError:
        raise
    except Exception as error:  # whatever it is: the others' pages do not depend on it
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "index.html").write_text(NOT_MADE, encoding="utf-8", newline="\n")
        return plain_line(f"{view['person']['id']} ({type(error).__name__}: {error})")
    return ""


def write_feedback(views: Path, output: Path, *, keep: bool = False) -> list[str]:
    """Writes a folder a student and an index for the staff; `keep` replaces these students' folders alone.

    Returns whose pages could not be made, each with the reason. Raises ReportInputError naming the line of `views`
    that is no view.
    """
    if not keep:
        refuse_strangers(output)
    try:
        (output if keep else output.parent).mkdir(parents=True, exist_ok=True)
        sweep(output if keep else output.parent, ".feedback-")
        with tempfile.TemporaryDirectory(prefix=".feedback-", dir=output if keep else output.parent) as scratch:
            staged = Path(scratch) / "feedback"
            staged.mkdir()
            listed, troubles = _write_all(views, staged)
            if keep:
                for view in listed:
                    publish(staged / view["file"], output / view["file"], Path(scratch) / "before")
                return troubles
            page = environment(html=True).get_template("feedback_index.html.j2")
            index = page.render(views=listed, style=Markup(_style()), script=asset("sort.js"))  # noqa: S704 - our own file
            index = scrolling_tables(index)
            (staged / "index.html").write_text(index, encoding="utf-8", errors="replace", newline="\n")
            publish(staged, output, Path(scratch) / "before")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(str(output), f"expected to write there, got: {reason}", "name another folder") from error
    return troubles


def _write_all(views: Path, staged: Path) -> tuple[list[View], list[str]]:
    """All students' folders: what the index has of each view, and what went wrong.

    Each process reads the views that it makes pages of: none is sent or kept.
    """
    places = _places_of(views)
    processes = processes_for(len(places)) if len(places) >= _ALONE else 1

    def work(number: int) -> list[tuple[int, View, str]]:
        done, reader = [], ViewReader()
        with views.open("rb") as file:
            for place in places[number::processes]:
                file.seek(place.begin)
                text = file.read(place.end - place.begin).decode("utf-8", errors="replace")
                view = reader.view(text, f"{views}, line {place.line}")
                told = {key: view[key] for key in _LISTED if key in view}
                done.append((place.begin, told, _try_student(view, text, staged / view["file"])))
        return done

    every = [each for part in in_processes(work, processes, apart=True) for each in part]
    every.sort(key=lambda each: each[0])
    return [view for _, view, _ in every], [trouble for _, _, trouble in every if trouble]


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.feedback", description="Renders students' feedback.")
    parser.add_argument("views", type=Path, metavar="VIEWS.jsonl")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--keep", action="store_true", help="replace the folders of these students alone")
    options = parser.parse_args(arguments)
    try:
        troubles = write_feedback(options.views, options.output, keep=options.keep)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if troubles:
        print(f"pages that could not be made: {', '.join(troubles)}", file=sys.stderr)
    return 2 if troubles else 0


if __name__ == "__main__":
    os.nice(5)  # the class report, which takes longer, goes first
    sys.exit(main())
