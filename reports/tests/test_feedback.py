"""A student's folder from a view: charts grouped as the lab's cases are, hostile texts escaped, nothing made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Page
from warpgrade_reports.feedback import ViewReader, main, render_html, render_markdown
from warpgrade_reports.source import ReportInputError, parse_node
from warpgrade_reports.view_charts import speed_charts


def case(name: str, k: int, **more: Any) -> dict[str, Any]:
    line = {"id": f"{name}-{k}", "dataset": name, "k": k, "kind": "speed", "verdict": "accepted", "open": False}
    line |= {"points": 1.5, "max_points": 3.0, "threshold": 2.0, "threshold_status": "pass", "baseline": "naive"}
    return line | {"ratio": {"median": 2.5, "low": 2.4, "high": 2.6}} | more


def view_of(cases: list[dict[str, Any]], width: str = "n", **more: Any) -> dict[str, Any]:
    view = {
        "schema": "warpgrade.feedback.v1",
        "file": "ada",
        "run": "r",
        "lab": "apsp",
        "backend": "cuda",
        "terms": {"width": width, "work": "relaxations"},
        "person": {"id": "ada", "name": "Ada"},
        "submission": {"id": "ada"},
        "points": 12.0,
        "max_points": 100.0,
        "verdict": "accepted",
        "correct_cases": len(cases),
        "total_cases": len(cases),
        "over_threshold": 1,
        "threshold_cases": len(cases),
        "speed_measured": True,
        "compile": None,
        "cases": cases,
    }
    return view | more


@pytest.mark.parametrize(
    ("cases", "width", "rows"),
    [
        ([case("complete", n) for n in (100, 1000, 2500, 5000, 7500, 10000)], "n", [6]),
        ([case(name, k) for name in ("arxiv", "ddi", "am") for k in (32, 256)], "K", [3, 3]),
        ([case(name, 1) for name in ("uniform", "skewed")], "", [2]),
    ],
)
def test_charts_hold_the_cases_that_stand_together(cases: list[dict[str, Any]], width: str, rows: list[int]) -> None:
    assert [len(chart.rows) for chart in speed_charts(view_of(cases, width))] == rows


def test_cases_without_a_name_have_no_chart_and_still_a_row() -> None:
    hidden = case("x", 1, id="hidden 1")
    del hidden["k"], hidden["dataset"]
    view = view_of([hidden])
    assert speed_charts(view) == []
    assert "hidden 1" in Page(render_html(view)).words()


def test_thresholds_of_another_gpu_are_told_on_the_page_and_in_markdown() -> None:
    note = "The thresholds were measured on another GPU model (H200)."
    view = view_of([case("arxiv", 32)], thresholds_note=note)
    assert note in Page(render_html(view)).words()
    assert "another GPU model" in render_markdown(view)
    assert "another GPU" not in Page(render_html(view_of([case("arxiv", 32)]))).words()


HOSTILE = "<script>alert(1)</script>|`*"


def test_hostile_texts_are_escaped_in_page_and_markdown() -> None:
    failed = case("x", 1, verdict="wrong_answer", open=True, message=HOSTILE, reason=HOSTILE, output=HOSTILE)
    failed["diagnostics"] = [{"file": HOSTILE, "line": 3, "kind": "race", "message": HOSTILE, "advice": HOSTILE}]
    failed["mismatches"] = [{"row": 1, "col": 2, "row_nnz": 3, "want": HOSTILE, "got": HOSTILE}]
    view = view_of([failed], person={"id": "ada", "name": HOSTILE}, override_reason=HOSTILE, overridden=True)
    view |= {"refusal": {"message": HOSTILE, "next_step": HOSTILE}, "late": {"note": HOSTILE}}
    view["compile"] = {"status": "compile_error", "message": HOSTILE, "log": HOSTILE}
    assert "<script>" not in render_html(view)
    markdown = render_markdown(view)
    for line in markdown.splitlines():
        assert "<script>" not in line.replace("\\<script\\>", "") or line.startswith("    "), line


@pytest.mark.parametrize(
    ("mismatch", "cell"),
    [
        ({"row": 3, "col": 0, "row_nnz": 5}, "c[3,0]"),
        ({"output": "out", "row": 7}, "out[7]"),
        ({"output": "out", "row": 1, "index": [1, 2, 3]}, "out[1,2,3]"),
        ({"output": "sum"}, "sum"),
    ],
)
def test_a_wrong_cell_is_named_by_its_own_array(mismatch: dict[str, Any], cell: str) -> None:
    failed = case("x", 1, verdict="wrong_answer", open=True, message="wrong")
    failed["mismatches"] = [mismatch | {"want": 1, "got": 2}]
    view = view_of([failed], terms={"width": "K", "work": "nnz", "output": "c"})
    page, markdown = Page(render_html(view)).words(), render_markdown(view).replace("\\", "")
    assert cell in page and f"{cell}: expected 1, got 2" in markdown
    assert ("entries in row" in page) == ("row of 5 entries" in markdown) == ("row_nnz" in mismatch)


def test_a_finding_of_accepted_cases_is_told_once_with_its_first_case() -> None:
    leak = {"kind": "device_memory_leak", "file": "spmm.cu", "line": 21, "message": "not freed", "advice": "Free it."}
    view = view_of([case(name, 1, open=True, diagnostics=[leak]) for name in ("a", "b")])
    for text in (Page(render_html(view)).words(), render_markdown(view)):
        assert "Accepted, but something should be corrected" in text
        assert text.count("not freed") == text.count("Free it.") == 1
        assert "a-1" in text[text.index("but something should be corrected") : text.index("Free it.") + 8]
    view["cases"][0]["verdict"] = view["cases"][1]["verdict"] = "wrong_answer"
    assert "something should be corrected" not in render_markdown(view)


@pytest.mark.parametrize("verdict", ["accepted", "wrong_answer"])
def test_a_finding_without_a_place_in_the_source_has_its_words_alone(verdict: str) -> None:
    finding = {"kind": "managed_memory", "message": "memory of the host", "advice": "Use cudaMalloc."}
    view = view_of([case("a", 1, verdict=verdict, open=True, diagnostics=[finding])])
    for text in (Page(render_html(view)).words(), render_markdown(view)):
        assert "memory of the host" in text and "Use cudaMalloc." in text and "Undefined" not in text
        assert ": memory of the host" not in text


def test_what_a_view_does_not_say_is_not_on_the_page() -> None:
    words = Page(render_html(view_of([case("x", 1)]))).words()
    for absent in ("leaderboard", "refused", "Late", "set by", "Compiler", "Kernels", "Undefined", "None"):
        assert absent not in words


@pytest.mark.parametrize("line", ["{", "[]", '{"schema": "warpgrade.case.v1"}', '{"schema": "warpgrade.feedback.v1"}'])
def test_what_is_no_view_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    views = tmp_path / "views.jsonl"
    views.write_text(json.dumps(view_of([])) + "\n" + line + "\n", encoding="utf-8")
    assert main([str(views), "--output", str(tmp_path / "out")]) == 1
    assert "line 2" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_view_reaches_its_student_as_it_was_written(tmp_path: Path) -> None:
    # RFC 8259, section 6: a number may have more digits than its shortest form; both say the same value.
    written = [json.dumps(view_of([], file=f"s{i:02}"), indent=1, sort_keys=True) for i in range(20)]
    written[3] = written[3].replace('"points": 12.0', '"points": 12.000000000000000')
    written[4] = json.dumps(view_of([], file="s04"))  # on one line
    views = tmp_path / "views.json"
    views.write_text("\n".join(written) + "\n", encoding="utf-8")
    assert main([str(views), "--output", str(tmp_path / "out")]) == 0
    for i in (3, 19):
        own = (tmp_path / f"out/s{i:02}/feedback.json").read_text(encoding="utf-8")
        assert own == written[i].replace(f'\n "file": "s{i:02}",', "") + "\n"
    assert "file" not in json.loads((tmp_path / "out/s04/feedback.json").read_text(encoding="utf-8"))
    index = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    places = [index.index(f'href="s{i:02}/index.html"') for i in range(20)]
    assert places == sorted(places)


@pytest.mark.parametrize("broken", ["{", '{\n "schema": "warpgrade.feedback.v1"\n}', "{\n]\n}"])
def test_a_view_of_many_lines_that_is_none_is_refused_with_its_first_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    views = tmp_path / "views.json"
    views.write_text(json.dumps(view_of([]), indent=1) + "\n" + broken + "\n", encoding="utf-8")
    assert main([str(views), "--output", str(tmp_path / "out")]) == 1
    assert f"line {json.dumps(view_of([]), indent=1).count(chr(10)) + 2}:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


TIMES = {"a": {"count": 3, "us": [1.5, 2.0, 30.25], "median_us": 2.0}, "b": {"count": 1, "us": [1e-05, -3, 4e16]}}


@pytest.mark.parametrize(
    "more",
    [
        {"class_times": TIMES},
        {"class_times": TIMES, "compile": {"status": "failed", "log": '"us": [1.0] and "us": ['}},
        {"class_times": {"a": {"us": []}, "b": {"us": [[1.0], 2.0]}}},
        {"class_times": {"a": {"us": 3}, "b": {"us": [1.0]}}},
        {"class_times": {"a": {"us": [1.0]}, "b": "]", "c": {"us": ["1.0"]}}},
        {"class_times": [1.0], "us": [1.0], "other": {"us": [2.0]}},
        {"class_times": {"a": {"us": [float("inf"), float("nan"), 1.0]}}},
        {"class_times": {'"us": [': {"us": [1.0]}}},
    ],
)
def test_a_list_that_was_read_once_is_the_one_that_json_has(more: dict[str, Any]) -> None:
    """Held against the standard library's parser, twice: a list is kept at the first time and taken at the second."""
    text = json.dumps(view_of([case("x", 1)], **more), indent=1, ensure_ascii=False)
    reader, whole = ViewReader(), parse_node(text, "views", "").value
    assert reader.view(text, "views") == whole
    assert reader.view(text, "views") == whole
    again = json.dumps(view_of([case("y", 2)], class_times=TIMES), indent=1)
    assert reader.view(again, "views") == json.loads(again)


@pytest.mark.parametrize("times", ["01.0", "1.0,", "1.0 2.0", "1.", "+1.0", ""])
def test_a_broken_list_of_times_is_refused_as_before(times: str) -> None:
    text = f'{{"schema": "warpgrade.feedback.v1", "file": "x", "class_times": {{"a": {{"us": [{times}]}}}}}}'
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ReportInputError, match="line 7: expected one JSON object"):
            ViewReader().view(text, "views, line 7")
    else:
        assert ViewReader().view(text, "views, line 7") == expected
