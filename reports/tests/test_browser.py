"""The page in a real browser: nothing hangs over the edge, on a screen or on A4."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import known
from synthetic import SyntheticRun
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")


def browse(tmp_path: Path, *options: str) -> str:
    command = [
        known(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module", params=["cuda", "emulator", "ladder"])
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with long names and many rows."""
    ladder = request.param == "ladder"
    run = SyntheticRun(
        backend="cuda" if ladder else request.param, students=0 if ladder else 12, kind="ladder" if ladder else "class"
    )
    folder = run.write(tmp_path_factory.mktemp(request.param) / "run")
    page = folder / "index.html"
    page.write_text(render_pages(read_run(folder))["index.html"], encoding="utf-8", errors="replace")
    return page


@pytest.mark.parametrize("width", [1400, 900])
def test_nothing_hangs_over_the_windows_edge(page_file: Path, tmp_path: Path, width: int) -> None:
    probe = """<script>addEventListener("load", () => {
      document.title = `widths ${document.documentElement.scrollWidth} ${innerWidth}`; });</script></body>"""
    page = tmp_path / "probe.html"
    page.write_text(page_file.read_text(encoding="utf-8").replace("</body>", probe), encoding="utf-8")
    dom = browse(tmp_path, f"--window-size={width},900", "--dump-dom", page.as_uri())
    content, window = (int(n) for n in known(re.search(r"<title>widths (\d+) (\d+)</title>", dom)).groups())
    assert content <= window


def test_no_word_of_a_chart_is_cut_off_at_its_edge(page_file: Path, tmp_path: Path) -> None:
    """A chart's text is drawn in its own coordinates: what leaves the picture is not seen."""
    probe = """<script>addEventListener("load", () => {
      const cut = [...document.querySelectorAll("figure svg[viewBox] text")].filter((text) => {
        const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
        return !text.transform.baseVal.numberOfItems && (box.x < -1 || box.x + box.width > view.width + 1); });
      const all = document.querySelectorAll("figure svg[viewBox] text").length;
      const words = cut.slice(0, 3).map((text) => text.textContent).join("; ");
      document.title = `texts ${all} cut ${cut.length}: ${words}`; });
      </script></body>"""
    page = tmp_path / "probe.html"
    page.write_text(page_file.read_text(encoding="utf-8").replace("</body>", probe), encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    found = known(re.search(r"<title>texts (\d+) cut (\d+): (.*?)</title>", dom))
    assert int(found[1]) > 10
    assert int(found[2]) == 0, found[3]


def test_sorting_by_a_column_reorders_the_rows(page_file: Path, tmp_path: Path) -> None:
    probe = """<script>addEventListener("load", () => {
      const table = document.querySelector("#cases table.sortable");
      const head = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === "nnz");
      table.tHead.rows[0].cells[head].click();
      document.title = "order " + [...table.tBodies[0].rows].map((row) => row.cells[head].dataset.sort).join(" "); });
      </script></body>"""
    page = tmp_path / "probe.html"
    page.write_text(page_file.read_text(encoding="utf-8").replace("</body>", probe), encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    order = [int(n) for n in known(re.search(r"<title>order ([\d ]+)</title>", dom))[1].split()]
    assert len(set(order)) > 1
    assert order == sorted(order)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here: apt-get install poppler-utils")
def test_on_a4_every_table_is_whole_and_heads_repeat(page_file: Path, tmp_path: Path) -> None:
    pdf = tmp_path / "page.pdf"
    browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page_file.as_uri())
    boxes = subprocess.run(["pdftotext", "-bbox", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    sizes = {
        (round(float(w)), round(float(h))) for w, h in re.findall(r'<page width="([\d.]+)" height="([\d.]+)"', boxes)
    }
    assert sizes <= {(595, 842), (596, 842), (595, 841), (594, 841), (594, 842)}, "A4 upright"
    right = max(float(x) for x in re.findall(r'xMax="([\d.]+)"', boxes))
    assert right <= 595 - 20, "nothing reaches into the margin"
    text = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    pages = text.split("\f")
    listed = [page for page in pages if re.search(r"^\s*\S+-k(32|256) +\S+ +(stand-in|synthetic) ", page, re.MULTILINE)]
    assert listed
    assert all("origin" in page for page in listed), "the head of the list of cases stands on each of its pages"


def test_a_title_neither_acts_nor_turns_the_page_around(tmp_path: Path) -> None:
    """A browser shows U+202E, U+2066, a noncharacter and an element in a title as the letters that stand there."""
    folder = SyntheticRun(students=2).write(tmp_path / "run")
    description = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    title = "\u202eevil\u2066\ufffe\u2028<img src=x onerror=\"document.title='ran'\">"
    description["submissions"][0]["title"] = title
    (folder / "run.json").write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
    probe = """<script>addEventListener("load", () => {
      const text = document.body.textContent;
      const unfit = /[\\u202a-\\u202e\\u2066-\\u2069\\u2028\\ufffe]/.test(text);
      document.title += ` unfit ${unfit} shown ${text.includes("\\ufffdevil\\ufffd\\ufffd\\ufffd<img")}`; });
      </script></body>"""
    page = tmp_path / "probe.html"
    page.write_text(render_pages(read_run(folder))["index.html"].replace("</body>", probe), encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    told = known(re.search(r"<title>(.*?)</title>", dom))[1]
    assert told.endswith(" unfit false shown true") and "ran" not in told.split(" unfit")[0].split(), told
