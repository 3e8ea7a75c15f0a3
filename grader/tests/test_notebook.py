"""Notebooks: the magics in a real kernel of Jupyter's (ipykernel, by nbclient), with the programs built here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from conftest import ROOT, WARPGRADE, Words

NAIVE = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
TRITON = ROOT / "reference/vector_add/triton/naive/vector_add.py"
BOX = "import sys; sys.path.insert(0, {!r})"
EMULATOR = "--backend emulator"


def run_cells(folder: Path, *cells: str, **environment: str) -> list[list[dict[str, Any]]]:
    """Runs these cells in a fresh kernel in the folder; the outputs of each, as the notebook file holds them."""
    first = BOX.format(str(ROOT / "scripts/bridges/notebook"))
    book = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(text) for text in (first, "%load_ext warpgrade", *cells)]  # type: ignore[no-untyped-call]
    )
    words = {"WARPGRADE": str(WARPGRADE), "WARPGRADE_HOME": str(ROOT), "IPYTHONDIR": str(folder / ".ipython")}
    client = nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}})
    client.execute(env={**os.environ, **words, **environment})
    nbformat.validate(book)
    assert [cell["outputs"] for cell in book["cells"][:2]] == [[], []], "loading says nothing"
    return [cell["outputs"] for cell in book["cells"][2:]]


class Page(HTMLParser):
    """The words of an output's HTML, tag by tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[tuple[str, str]] = []
        self.drawn = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.drawn += tag == "path" and any(name == "class" for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open:
            self.words.append((self.open[-1], data.strip()))

    def within(self, tag: str) -> list[str]:
        return [words for place, words in self.words if place == tag]


def shown(outputs: list[dict[str, Any]]) -> tuple[Page, str]:
    """The one result of a cell, as a notebook and as a terminal shows it."""
    (output,) = outputs
    assert output["output_type"] == "display_data", output
    return Page(output["data"]["text/html"]), output["data"]["text/plain"]


def told(outputs: list[dict[str, Any]]) -> str:
    """What a cell printed, where it shows no result."""
    (output,) = outputs
    assert output["output_type"] == "stream", output
    return str(output["text"])


def test_a_cell_is_written_judged_and_shown_with_its_lines(tmp_path: Path) -> None:
    broken = NAIVE.replace("if (i < n)", "if (i <= n)")
    assert broken != NAIVE
    line = 2 + broken.split("\n").index(next(line for line in broken.split("\n") if "i <= n" in line))
    options = f"vector_add --cases warp,one {EMULATOR}"
    right, wrong, syntax = run_cells(
        tmp_path,
        f"%%cuda_lab {options}\n{NAIVE}",
        f"%%cuda_lab {options}\n{broken}",
        f"%%cuda_lab {options}\nint x\n{NAIVE}",
    )
    page, text = shown(right)
    assert "vector_add: 2 of 2 cases are right. Judged without a GPU, on the emulator." in page.within("b")[0]
    assert page.within("span").count("accepted") == 2
    assert page.drawn == 2, "a dot a case"
    assert "warp" in page.within("th"), page.within("th")
    assert "accepted" in text

    page, text = shown(wrong)
    assert f"line {line}" in page.within("b")
    assert any("i <= n" in code for code in page.within("code")), "the cell's own line"
    assert any("out of bounds" in words for words in page.within("p")), page.words
    assert f"line {line}: " in text

    page, _ = shown(syntax)
    assert {words for words in page.within("b") if words.startswith("line")} <= {"line 2", "line 3", "line 4"}
    assert page.within("span") == ["compile error"] * 2
    lines = (tmp_path / "student/vector_add/vector_add.cu").read_text(encoding="utf-8").split("\n")
    assert lines[1] == "int x", "the number of a line is the cell's"


def test_work_that_no_cell_wrote_stays(tmp_path: Path) -> None:
    own = tmp_path / "student/vector_add/vector_add.cu"
    shutil.copytree(ROOT / "student/vector_add", own.parent)
    own.write_text("// a week's work\n", encoding="utf-8")
    refused, unknown, no_python, options = run_cells(
        tmp_path,
        f"%%cuda_lab vector_add\n{NAIVE}",
        "%%cuda_lab abacus\nint x;",
        "%%triton_lab sampling\nx = 1",
        "%%cuda_lab vector_add --backend tpu\nint x;",
    )
    assert f"{Path('student/vector_add/vector_add.cu')} holds work that no cell wrote" in told(refused)
    assert own.read_text(encoding="utf-8") == "// a week's work\n"
    assert "there is no lab 'abacus'; there is apsp, convolution" in told(unknown)
    assert "lab sampling is not written in Python" in told(no_python)
    assert "invalid choice: 'tpu'" in told(options)


def test_a_cell_in_triton_takes_the_place_of_one_in_cuda(tmp_path: Path) -> None:
    if not (ROOT / ".cache/triton/triton").is_dir() and "WARPGRADE_TRITON" not in os.environ:
        pytest.skip("Triton is not installed: scripts/bootstrap triton")
    options = f"vector_add --cases one {EMULATOR}"
    text = TRITON.read_text(encoding="utf-8")
    cuda, triton, wrong = run_cells(
        tmp_path,
        f"%%cuda_lab {options}\n{NAIVE}",
        f"%%triton_lab {options}\n{text}",
        f"%%triton_lab {options}\n{text.replace(', mask=mask', '')}",
        WARPGRADE_TRITON=os.environ.get("WARPGRADE_TRITON", str((ROOT / ".cache/triton").resolve())),
    )
    assert "1 of 1 cases are right" in shown(cuda)[1]
    assert "1 of 1 cases are right" in shown(triton)[1], "the CUDA stub is back: two written files are refused"
    page, _ = shown(wrong)
    lines = (tmp_path / "student/vector_add/vector_add.py").read_text(encoding="utf-8").split("\n")
    (place,) = {words for words in page.within("b") if words.startswith("line")}
    assert "tl." in lines[int(place.removeprefix("line ")) - 1]


def test_the_lack_of_a_box_is_said_once_and_the_cell_is_judged(tmp_path: Path) -> None:
    """Without bubblewrap in PATH, as on Colab and Kaggle; `grade` alone refuses there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/local/bin"):
        for program in Path(folder).iterdir():
            if program.name not in {"bwrap", "warpgrade"} and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    path = f"{programs}:/usr/local/cuda/bin"
    options = f"vector_add --cases one {EMULATOR}"
    first, second = run_cells(tmp_path, f"%%cuda_lab {options}\n{NAIVE}", f"%%cuda_lab {options}\n{NAIVE} ", PATH=path)
    assert "Here no box is possible (" in shown(first)[1]
    assert "for your own code alone" in shown(first)[0].within("p")[0]
    assert "no box" not in shown(second)[1]
    assert "1 of 1 cases are right" in shown(second)[1]
    command: Words = [
        WARPGRADE,
        "grade",
        tmp_path / "student",
        "--lab",
        "vector_add",
        "--cases",
        "one",
        "--run",
        tmp_path / "r",
    ]
    refused = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "--allow-unsandboxed" in refused.stderr


def test_the_package_needs_ipython_for_the_magics_alone(tmp_path: Path) -> None:
    """A bare environment of Python's: the module is imported, and judging does not ask for IPython."""
    venv.create(tmp_path / "venv", with_pip=False)
    script = "import warpgrade, warpgrade.labs, warpgrade.judging, warpgrade.shown; print(warpgrade.labs.package())"
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", script],
        env={"PYTHONPATH": str(ROOT / "scripts/bridges/notebook")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (str(ROOT), "")


def test_speed_ups_are_drawn_where_they_were_measured(tmp_path: Path) -> None:
    """A view as `warpgrade export --format view` makes it on a GPU."""
    case = {"id": "a-k32", "dataset": "a", "k": 32, "kind": "speed", "verdict": "accepted", "baseline": "naive"}
    case |= {"ratio": {"median": 2.5, "low": 2.4, "high": 2.6}, "time_us": 12.0}
    view = {"cases": [case], "speed_measured": True, "terms": {"width": "K"}, "person": {}, "judged_by": "Judged."}
    script = (
        "import json, sys\nfrom pathlib import Path\nfrom warpgrade import judging, labs, shown\n"
        "made = shown.Shown(labs.Cell('spmm', '.cu', ''), judging.Judged(json.loads(sys.argv[1])), labs.package())\n"
        "print(made._repr_html_())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts/bridges/notebook")}
    command = [sys.executable, "-c", script, json.dumps(view)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    page = Page(done.stdout)
    assert "2.50× naive (2.40 to 2.60), 12.0 µs" in page.within("td"), done.stderr
    assert "speed-up over naive, longer is faster" in page.within("text")
