"""The page: complete in itself, honest about what is missing, and safe whatever a name or a message holds."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Page, render
from synthetic import SyntheticRun
from warpgrade_reports.verdicts import STYLES

EVIL = '<script>alert("1")</script><img src=x onerror=alert(2)> & \'"=cmd|calc $x^2_$ \u202eevil \x1b[31m'


def named(title: str) -> Callable[..., Any]:
    def change(run: SyntheticRun) -> None:
        run.submissions[0]["title"] = title

    return change


def fail(record: dict[str, Any], verdict: str, **fields: dict[str, str] | str) -> None:
    for key in ("timing", "ratios", "floor", "throughput_nnz_per_s"):
        record.pop(key, None)
    record["outcome"] = {"verdict": verdict, **fields}


def pages_of(folder: Path) -> dict[str, Page]:
    """Every page of the report, by its path in the report's folder."""
    report = folder / "report"
    files = report.rglob("*.html")
    return {file.relative_to(report).as_posix(): Page(file.read_text(encoding="utf-8")) for file in files}


def assert_links_lead_somewhere(pages: dict[str, Page]) -> None:
    """An id stands once on its page; every link leads to one of the pages, and to an id of it where it names one."""
    ids = {}
    for name, page in pages.items():
        counted = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
        assert max(counted.values(), default=1) == 1, (name, counted)
        ids[name] = set(counted)
    for name, page in pages.items():
        for link in (attributes["href"] for attributes in page.all("a")):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert target in pages, (name, link)
            assert not anchor or anchor in ids[target], (name, link)


@pytest.mark.parametrize("fixture", ["cuda_run", "emulator_run"])
def test_the_pages_load_nothing(fixture: str, request: pytest.FixtureRequest) -> None:
    _, _, folder = request.getfixturevalue(fixture)
    for page in pages_of(folder).values():
        for tag, attributes in page.elements:
            assert tag not in {"link", "iframe", "img", "object", "embed", "base", "form"}
            assert not {"src", "srcset", "data", "action", "xlink:href"} & set(attributes), (tag, attributes)
            assert tag == "a" or "href" not in attributes, (tag, attributes)
        styles = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
        assert styles
        assert not any("url(" in style or "@import" in style for style in styles)
        for script in re.findall(r"<script>(.*?)</script>", page.source, re.DOTALL):
            assert not re.search(r"fetch|XMLHttpRequest|import\b|https?:", script)


@pytest.mark.parametrize("fixture", ["cuda_run", "emulator_run"])
def test_every_link_has_its_target_and_every_submission_its_page(fixture: str, request: pytest.FixtureRequest) -> None:
    run, _, folder = request.getfixturevalue(fixture)
    pages = pages_of(folder)
    assert_links_lead_somewhere(pages)
    apart = {name: page for name, page in pages.items() if name != "index.html"}
    assert len(apart) == len(run.submissions)
    assert all(len(page.all("article", "submission")) == 1 for page in apart.values())
    assert not pages["index.html"].all("article", "submission")
    assert set(apart) <= {attributes["href"] for attributes in pages["index.html"].all("a")}
    for submission in run.submissions:
        shown = f"id <code>{submission['id']}</code>"
        assert sum(shown in page.source for page in apart.values()) == 1, submission["id"]


def test_a_run_without_students_is_one_page_with_a_section_a_submission(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=0)
    render(folder)
    pages = pages_of(folder)
    assert set(pages) == {"index.html"}
    assert_links_lead_somewhere(pages)
    page = pages["index.html"]
    sections = {attributes["id"] for attributes in page.all("article", "submission")}
    assert len(sections) == 2
    assert {f"#{anchor}" for anchor in sections} <= {attributes["href"] for attributes in page.all("a")}


@pytest.mark.parametrize("fixture", ["cuda_run", "emulator_run"])
def test_the_matrix_has_the_verdicts_of_the_records(fixture: str, request: pytest.FixtureRequest) -> None:
    run, page, _ = request.getfixturevalue(fixture)
    counted = Counter(record["outcome"]["verdict"] for record in run.records)
    for verdict in STYLES:
        assert len(page.all("td", f"v-{verdict}")) == counted[verdict], verdict


def test_the_class_table_has_the_counts_of_the_records(cuda_run: tuple[SyntheticRun, Page, Path]) -> None:
    run, page, _ = cuda_run
    words = page.words()
    for submission in run.submissions:
        own = [r for r in run.records if r["submission"]["id"] == submission["id"]]
        correct = sum(r["outcome"]["verdict"] == "accepted" for r in own)
        over = sum("ratios" in r and r["ratios"]["cusparse_default"]["high"] >= 1 for r in own)
        speed = sum(case["kind"] == "speed" for case in run.cases)
        title = re.escape(" ".join(submission["title"].split()))
        assert re.search(rf"{title} (reference )?[\d.]+ / 100 \S [a-z ]+ {correct}/{len(own)} {over}/{speed}", words), (
            title
        )


def test_where_one_is_in_python_tables_name_each_language(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.submissions[0] |= {"language": "Python", "interface": "spmm.py"}

    folder = make_run(change=change)
    render(folder)
    page = pages_of(folder)["index.html"]
    assert re.search(r"submission language points", page.words())
    languages = Counter(re.findall(r"\b(Python|CUDA)\b", page.words()))
    assert languages["Python"] >= 1
    assert languages["CUDA"] > languages["Python"]
    own = [page for name, page in pages_of(folder).items() if "student · Python ·" in page.words()]
    assert len(own) == 1


def test_where_all_are_in_cuda_no_table_has_a_column_for_it(cuda_run: tuple[SyntheticRun, Page, Path]) -> None:
    assert "language" not in cuda_run[1].words()


def test_the_mean_speedup_is_that_of_the_records(cuda_run: tuple[SyntheticRun, Page, Path]) -> None:
    run, page, _ = cuda_run
    for k in (32, 256):
        ratios = [
            r["ratios"]["cusparse_default"]["median"]
            for r in run.records
            if r["submission"]["id"] == "optimized" and r["case"]["k"] == k and "ratios" in r
        ]
        product = 1.0
        for ratio in ratios:
            product *= ratio
        mean = product ** (1 / len(ratios))
        assert f"{mean:.3g}"[:4] in page.words()
        assert f"{len(ratios)}/{len(ratios)}" in page.words()


def test_hostile_names_stay_text(make_run: Callable[..., Any]) -> None:
    page = render(make_run(named(EVIL), students=2))
    assert len(page.all("script")) == 1, "the page's own"
    assert "<script>alert" not in page.source
    assert '<script>alert("1")</script>' in page.text, "shown as it was written"
    assert "\x1b" not in page.source
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)


def test_half_a_surrogate_in_a_name_is_replaced(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=1)
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(
        text.replace('"title": "Ada Lovelace"', '"title": "Ada \\ud800"', 1), encoding="utf-8"
    )
    assert "Ada \N{REPLACEMENT CHARACTER}" in render(folder).text


@pytest.mark.parametrize("field", ["message", "reason", "next_step", "pattern", "output"])
def test_hostile_texts_in_records_stay_text(make_run: Callable[..., Any], field: str) -> None:
    def change(run: SyntheticRun) -> None:
        record = run.records[0]
        fail(record, "wrong_answer", message="m", next_step="n", reason="r", details={"output": "o"})
        if field == "pattern":
            record["pattern"] = EVIL
        elif field == "output":
            record["outcome"]["details"]["output"] = EVIL
        else:
            record["outcome"][field] = EVIL

    page = render(make_run(change, students=1, faults=0))
    assert len(page.all("script")) == 1
    assert 'alert("1")' in page.text


def test_every_chart_escapes_dataset_names(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for case in run.cases:
            if case["dataset"] == "arxiv":
                case["dataset"] = "<b>arxiv</b>"
        run.run["cases"] = [{key: c[key] for key in ("id", "dataset", "k", "kind")} for c in run.cases]

    page = render(make_run(change, students=1, kind="ladder"))
    assert "<b>arxiv</b>" not in page.source
    assert "<b>arxiv</b>" in page.text


def test_a_message_keeps_its_lines(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        fail(run.records[0], "runtime_error", message="first line\nsecond line")

    assert "first line\nsecond line" in render(make_run(change, students=1, faults=0)).text


def test_judge_faults_and_cases_not_run_are_told_from_faults_of_the_submission(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        fail(run.records[0], "judge_fault", message="the device was lost")
        fail(run.records[1], "not_run", message="stopped by the operator")
        fail(run.records[2], "wrong_answer", message="c[0,0] want 1 got 2")

    page = render(make_run(change, students=1, faults=0))
    words = page.words()
    assert "Faults of the judge: 1." in words
    assert "Not run: 1." in words
    assert "2 not judged, costing nothing" in words
    assert page.all("section", "f-judge_fault")
    assert "the device was lost" in words
    cells = {style: page.all("td", f"v-{style}") for style in ("judge_fault", "not_run", "wrong_answer")}
    assert [len(found) for found in cells.values()] == [1, 1, 1]
    assert len({STYLES[name].colour for name in cells}) == 3
    assert len({STYLES[name].letter for name in STYLES}) == len(STYLES)


def test_a_case_that_is_left_out_is_not_called_for_again(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        fail(run.records[0], "not_run", reason="left_out", message="rows and columns differ")

    words = render(make_run(change, students=1, faults=0)).words()
    assert "Left out: 1." in words
    assert "Not run:" not in words
    assert "not judged, nobody's zero" not in words


def test_a_failure_shows_pattern_mismatches_and_the_next_step(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        record = run.records[0]
        fail(
            record,
            "wrong_answer",
            reason="mismatch",
            message="c[17,4] is wrong",
            next_step="repeat it: make test LAB=spmm CASE=synth-uniform-k32",
        )
        record["pattern"] = "rows longer than 32 are wrong"
        record["mismatches"] = [
            {"row": 17, "col": 4, "row_nnz": 40, "want": 0.5, "got": "nan"},
            {"row": 18, "col": 4, "row_nnz": 41, "want": 1.5, "got": None},
        ]

    words = render(make_run(change, students=1, faults=0)).words()
    assert "Pattern: rows longer than 32 are wrong" in words
    assert "c[17,4] 40 0.5 nan" in words
    assert "c[18,4] 41 1.5 not finite" in words
    assert "Next: repeat it: make test LAB=spmm CASE=synth-uniform-k32" in words


def test_a_pattern_that_the_message_tells_already_is_not_told_twice(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        fail(run.records[0], "wrong_answer", message="c[17,4] want 1 got 2; rows longer than 32 are wrong")
        run.records[0]["pattern"] = "rows longer than 32 are wrong"

    words = render(make_run(change, students=1, faults=0)).words()
    assert "c[17,4] want 1 got 2; rows longer than 32 are wrong" in words
    assert "Pattern:" not in words


def test_the_emulators_findings_name_place_thread_and_allocation(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run._fail(run.records[0], ("runtime_error", "out_of_bounds", "store past the end of c"))
        run.records[0].pop("timing", None)

    words = render(make_run(change, backend="emulator", students=1, faults=0)).words()
    assert "spmm.cu:31 out of bounds 12 times" in words
    assert "kernel spmm_long_rows_kernel · block (3, 0, 0) · thread (5, 0, 0)" in words
    assert "allocation c, 4,096 bytes, at offset 4,096" in words
    assert "guard the last block: if (row < a.rows)" in words


def test_of_a_kernel_in_python_the_program_is_named_and_no_thread_of_the_compilers(
    make_run: Callable[..., Any],
) -> None:
    def change(run: SyntheticRun) -> None:
        run._fail(run.records[0], ("runtime_error", "out_of_bounds", "store past the end of c"))
        run.records[0]["diagnostics"][0]["file"] = "spmm.py"
        run.records[0].pop("timing", None)

    words = render(make_run(change, backend="emulator", students=1, faults=0)).words()
    assert "kernel spmm_long_rows_kernel · program (3, 0, 0) · allocation c" in words
    assert "thread (5" not in words


def test_an_emulator_run_shows_counters_and_says_why_there_are_no_times(
    emulator_run: tuple[SyntheticRun, Page, Path],
) -> None:
    _, page, _ = emulator_run
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert "counters" in ids
    assert not {"speed", "throughput", "floor"} & ids
    assert "Speed was not measured: the emulator counts instructions, it has no time" in page.words()
    for title in (
        "Warp instructions relative to naive",
        "Active lanes",
        "Global sectors over ideal",
        "Shared-memory passes per request",
        "Atomics per 1000 warp instructions",
        "Arithmetic to memory",
    ):
        assert title in page.words()


def test_a_run_without_speed_on_a_gpu_says_so(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.run["speed_measured"] = False
        for record in run.records:
            for key in ("timing", "ratios", "floor", "throughput_nnz_per_s"):
                record.pop(key, None)

    words = render(make_run(change, students=1)).words()
    assert "Speed was not measured: this run judged correctness only" in words


def test_a_gpu_run_of_correctness_cases_alone_has_no_empty_speed_sections(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=1, graphs=[])
    page = render(folder)
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert not {"speed", "throughput", "floor"} & ids
    assert_links_lead_somewhere(pages_of(folder))
    assert "this run judged correctness only" in page.words()


def test_a_class_in_which_nothing_was_measured_says_so(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for record in run.records:
            fail(record, "runtime_error", message="illegal address")

    words = render(make_run(change, students=2)).words()
    assert "Speed-up over cusparse default, K = 32: nothing was measured." in words


def test_an_unsandboxed_run_and_skipped_cases_are_announced(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.run["sandbox"] = "unsandboxed"
        run.run["skipped_cases"] = [{"case": "ppa-k32", "why": "the source is not on this machine"}]

    words = render(make_run(change, students=1)).words()
    assert "Unsandboxed." in words
    assert "Cases skipped: 1." in words
    assert "ppa-k32 the source is not on this machine" in words


def test_the_compilers_figures_are_shown_and_spills_are_marked(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        kernel = run.compilations["optimized"]["kernels"][0]
        kernel.update(
            name="spmm_row_kernel",
            registers=77,
            shared_bytes=20480,
            stack_bytes=16,
            spill_store_bytes=24,
            spill_load_bytes=40,
        )

    page = render(make_run(change, students=0))
    assert "spmm_row_kernel sm_90 77 20,480 16 24 40" in page.words()
    assert len(page.all("tr", "spills")) == 1


def test_a_submission_that_was_not_compiled_shows_the_compilers_words(make_run: Callable[..., Any]) -> None:
    def break_first(run: SyntheticRun) -> None:
        name = run.submissions[0]["id"]
        run.compilations[name] |= {"status": "compile_error", "message": "one error", "kernels": []}
        run.logs[name] = 'spmm.cu(41): error: identifier "blockIdy" is undefined'
        for record in run.records:
            if record["submission"]["id"] == name:
                fail(record, "compile_error", message="one error")
                record.pop("verification", None)

    page = render(make_run(break_first, students=1))
    assert 'error: identifier "blockIdy" is undefined' in page.text
    assert "No case ran: was not compiled" in page.words()


@pytest.mark.parametrize(
    ("low", "high", "word"), [(1.2, 1.4, "reached"), (0.9, 1.4, "within noise"), (0.5, 0.9, "missed")]
)
def test_a_threshold_is_reached_missed_or_within_noise(
    make_run: Callable[..., Any], low: float, high: float, word: str
) -> None:
    def change(run: SyntheticRun) -> None:
        for record in run.records:
            if "ratios" in record:
                record["ratios"]["cusparse_default"] |= {"median": (low + high) / 2, "low": low, "high": high}

    page = render(make_run(change, students=1, faults=0))
    speed = 3 * 6  # three submissions, three graphs with two widths
    assert len(page.all("span", "status")) == speed
    assert page.words().count(f" {word} 1.00×") == speed


def test_raw_samples_appear_for_an_appeal_only(make_run: Callable[..., Any]) -> None:
    folder = make_run(students=1, faults=0)
    assert "submission_event_us" not in render(folder).words()
    appeal = render(folder, "--open-appeal-details")
    assert "submission_event_us" in appeal.words()
    assert "clocks" in appeal.words()
    assert all("open" in details for details in appeal.all("details", "evidence"))


def test_the_journey_appears_with_the_ladders_steps_only(make_run: Callable[..., Any]) -> None:
    ladder = render(make_run(students=0, kind="ladder"))
    assert "journey" in {attributes.get("id") for _, attributes in ladder.elements}
    assert "K = 32: over naive over the step before" in ladder.words()
    group = render(make_run(students=2, name="other"))
    assert "journey" not in {attributes.get("id") for _, attributes in group.elements}


def test_a_large_class_becomes_a_strip_and_a_small_one_keeps_its_colours(make_run: Callable[..., Any]) -> None:
    assert not render(make_run(students=4)).all("circle", "crowd")
    assert render(make_run(students=12, name="large")).all("circle", "crowd")


def test_a_run_of_references_alone_is_rendered(make_run: Callable[..., Any]) -> None:
    assert "No student's submission is in this run" in render(make_run(students=0)).words()


def test_words_of_a_later_version_are_shown_as_they_are(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        fail(run.records[0], "power_cut", message="unknown to this version")

    page = render(make_run(change, students=1, faults=0))
    assert page.words().count("power cut") >= 2, "in the legend and where it was given"


def test_a_plan_that_pays_late_and_its_memory_are_told(make_run: Callable[..., Any]) -> None:
    late = []

    def change(run: SyntheticRun) -> None:
        timed = [record for record in run.records if "timing" in record]
        for record in timed:
            record["timing"]["break_even_runs"] = 100
            record["plan"] = {"ms": 1.8, "device_bytes": 12_345_678}
        timed[0]["timing"]["break_even_runs"] = 101
        late.append(timed[0]["case"]["id"])

    source = render(make_run(change)).source
    assert re.findall(r"The plan costs more than 100 runs save: ([^<]*)\.<", source) == late
    assert "<small>12.3 MB</small>" in source


def test_the_emulators_page_has_the_plans_memory(emulator_run: tuple[SyntheticRun, Page, Path]) -> None:
    _, _, folder = emulator_run
    assert any("plan's memory" in page.source for page in pages_of(folder).values())


def test_the_page_names_the_nodes_whose_times_decided_on_thresholds(make_run: Callable[..., Any]) -> None:
    folder = make_run()
    assert "Times of these nodes" not in render(folder).source
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    (folder / "scores.json").write_text(json.dumps({**scores, "threshold_nodes": "n1 (24), n2 (12)"}), encoding="utf-8")
    assert "Times of these nodes decided on thresholds (cases of each): n1 (24), n2 (12)." in render(folder).source
