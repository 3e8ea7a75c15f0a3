"""Fixtures: run folders on disk and the page that comes of them."""

from __future__ import annotations

import html.parser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from synthetic import SyntheticRun
from warpgrade_bench.set_archives import unpacked
from warpgrade_reports.__main__ import main

Known = TypeVar("Known")
PUBLISHED = Path(__file__).resolve().parents[1] / "published"


def known(value: Known | None) -> Known:
    """What a test has made sure of."""
    assert value is not None
    return value


class Page(html.parser.HTMLParser):
    """What tests ask about a page: its elements, ids, text, and cells by class."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self._pieces: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.text = "".join(self._pieces)

    def handle_starttag(self, tag: str, attributes: list[Any]) -> None:
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "dt", "dd", "span", "small", "text", "div"}:
            self._pieces.append(" ")
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._open):
            self._pieces.append(data)

    def all(self, tag: str, css: str | None = None) -> list[Any]:
        """The attributes of all elements of this tag, and of this class where one is named."""
        found = [attributes for name, attributes in self.elements if name == tag]
        return [a for a in found if css is None or css in (a.get("class") or "").split()]

    def words(self) -> str:
        return " ".join(self.text.split())


def render(folder: Path, *options: str) -> Page:
    """Runs the command on a run folder and parses what it wrote: the index, and then a class's pages in its order."""
    assert main([str(folder), *options]) == 0
    report = Path(folder) / "report"
    pages = sorted(report.glob("submissions/*.html"), key=lambda page: int(page.name.split("-")[1]))
    return Page("".join(page.read_text(encoding="utf-8") for page in [report / "index.html", *pages]))


@pytest.fixture(scope="session")
def sets() -> Iterator[Path]:
    """The published sets, unpacked, to be read."""
    if not PUBLISHED.is_dir():
        pytest.skip("not in the students' hand-out")
    with unpacked(PUBLISHED) as folder:
        yield folder


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Any]:
    """A function that writes a synthetic run, after a change where one is given, and returns its folder."""

    def make(change: Callable[..., Any] | None = None, name: str = "run", **options: Any) -> Path:
        run = SyntheticRun(**{"graphs": ["arxiv", "collab", "ddi"], **options})
        if change:
            change(run)
        return run.write(tmp_path / name)

    return make


@pytest.fixture(scope="module")
def cuda_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyntheticRun, Page, Path]:
    """A class of six with faults, on a GPU: the model of its records, and its page."""
    run = SyntheticRun(students=6)
    folder = run.write(tmp_path_factory.mktemp("cuda") / "run")
    return run, render(folder), folder


@pytest.fixture(scope="module")
def emulator_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyntheticRun, Page, Path]:
    """A class of five with faults, on the emulator."""
    run = SyntheticRun(backend="emulator", students=5)
    folder = run.write(tmp_path_factory.mktemp("emulator") / "run")
    return run, render(folder), folder
