"""Fixtures: run folders on disk and the page that comes of them."""

import html.parser
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import SyntheticRun
from warpgrade_bench.set_archives import unpacked
from warpgrade_reports.__main__ import main

PUBLISHED = Path(__file__).resolve().parents[1] / "published"


class Page(html.parser.HTMLParser):
    """What tests ask about a page: its elements, ids, text, and cells by class."""

    def __init__(self, text):
        super().__init__()
        self.source, self.elements, self._pieces, self._open = text, [], [], []
        self.feed(text)
        self.close()
        self.text = "".join(self._pieces)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in {"td", "th", "dt", "dd", "span", "small", "text", "div"}:
            self._pieces.append(" ")
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self._pieces.append(data)

    def all(self, tag, css=None):
        """The attributes of all elements of this tag, and of this class where one is named."""
        found = [attributes for name, attributes in self.elements if name == tag]
        return [a for a in found if css is None or css in (a.get("class") or "").split()]

    def words(self):
        return " ".join(self.text.split())


def render(folder, *options):
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
def make_run(tmp_path):
    """A function that writes a synthetic run, after a change where one is given, and returns its folder."""

    def make(change=None, name="run", **options):
        run = SyntheticRun(**{"graphs": ["arxiv", "collab", "ddi"], **options})
        if change:
            change(run)
        return run.write(tmp_path / name)

    return make


@pytest.fixture(scope="module")
def cuda_run(tmp_path_factory):
    """A class of six with faults, on a GPU: the model of its records, and its page."""
    run = SyntheticRun(students=6)
    folder = run.write(tmp_path_factory.mktemp("cuda") / "run")
    return run, render(folder), folder


@pytest.fixture(scope="module")
def emulator_run(tmp_path_factory):
    """A class of five with faults, on the emulator."""
    run = SyntheticRun(backend="emulator", students=5)
    folder = run.write(tmp_path_factory.mktemp("emulator") / "run")
    return run, render(folder), folder
