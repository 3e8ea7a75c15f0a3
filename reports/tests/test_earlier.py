"""Earlier years' runs, given folders and kept fingerprints: what is found, what is not told, and what is refused."""

from __future__ import annotations

import json
import random
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from conftest import Page
from disguise import disguised, disguised_python
from synthetic_class import HANDOUT, ROOT, SyntheticClass, kernel_source
from warpgrade_reports.attention import main as attention
from warpgrade_reports.class_report import find_similar, main, render_class_report, save_pairs
from warpgrade_reports.earlier import keep_fingerprints, read_fingerprints
from warpgrade_reports.reading import read_run
from warpgrade_reports.similarity import grams, winnowed
from warpgrade_reports.tokens import METHOD, tokens

TRITON = ROOT / "reference/sort/triton/optimized/sort.py"


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A class and one of the year before, where s0005 of now took the program of s0007 of then."""
    folder = tmp_path_factory.mktemp("years")
    now, then = (SyntheticClass(students=8, graphs=["ddi"], seed=seed) for seed in (1, 2))
    taken = now.sources["s0005"]
    then.sources["s0007"] = disguised(taken, 2, 1)
    then.run["run"] = "year-2025"
    then.records = []
    return now.write(folder / "now"), then.write(folder / "then"), taken


def report(run: Path, output: Path, *against: Path) -> tuple[str, list[str]]:
    """The report's page, and the pages of the pairs, as the command writes them."""
    read, similar = read_run(run, samples=False), find_similar(run, "spmm", None, against)
    output.mkdir()
    save_pairs(read, similar, output)
    index = render_class_report(read, run, similar, ([], ""))
    return index, [file.read_text(encoding="utf-8") for file in sorted((output / "similar").glob("*.html"))]


def keep(run: Path, file: Path, names: str = "pseudonyms") -> None:
    keep_fingerprints(find_similar(run, "spmm", None).comparison, run, file, names=names)


def test_the_command_keeps_and_compares(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    now, then, _ = years
    kept, output = tmp_path / "2025.json", tmp_path / "out"
    assert main([str(then), "--no-pdf", "--output", str(tmp_path / "o"), "--keep-fingerprints", str(kept)]) == 0
    assert main([str(now), "--no-pdf", "--output", str(output), "--against", str(kept), "--against", str(then)]) == 0
    words = Page((output / "index.html").read_text(encoding="utf-8")).words()
    assert "Compared with: year-2025 (8 programs, fingerprints alone), year-2025 (8 programs)." in words
    assert len(list((output / "similar").glob("*.html"))) == 3, "the class's own pair, and one of each year"


def test_an_earlier_years_run_is_compared_and_both_programs_stand_beside_each_other(
    years: tuple[Path, Path, str], tmp_path: Path
) -> None:
    now, then, _ = years
    index, pages = report(now, tmp_path / "out", then)
    words = Page(index).words()
    assert "s0007year-2025" in words and "Compared with: year-2025 (8 programs)" in words
    (page,) = [page for page in pages if "s0007, year-2025" in Page(page).words()]
    assert page.count('<pre class="code"') == 2
    assert page.count('id="a1"') == page.count('id="b1"') == 1 and 'href="#b1"' in page
    assert index.count('">beside each other</a>') == len(pages)


def test_without_earlier_years_nothing_is_said_of_them(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    index, pages = report(years[0], tmp_path / "out")
    assert "earlier years" not in index and len(pages) == 1, "the pair that the synthetic class has"


def test_attention_names_the_earlier_program(
    years: tuple[Path, Path, str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "people.json").write_text('{"schema": "warpgrade.people.v1", "people": []}')
    assert attention([str(years[0]), "--people", str(tmp_path / "people.json"), "--against", str(years[1])]) == 0
    assert "s0005: and s0007 of year-2025" in capsysbinary.readouterr().out.decode()


def test_kept_fingerprints_find_the_same_pair_and_tell_lines_alone(
    years: tuple[Path, Path, str], tmp_path: Path
) -> None:
    now, then, _ = years
    file = tmp_path / "2025.json"
    keep(then, file)
    index, pages = report(now, tmp_path / "out", file)
    names = dict(row.split(",") for row in (then / "secret/fingerprint_names.csv").read_text().split())
    (page,) = [page for page in pages if names["s0007"] in page]
    assert "fingerprints alone" in index and page.count('<pre class="code"') == 1
    assert "file 1.cu:" in Page(page).words()
    assert len(read_fingerprints(file)) == 8


def test_kept_fingerprints_hold_no_source_and_no_student(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    then = years[1]
    file = tmp_path / "2025.json"
    keep(then, file)
    text = file.read_text()
    snapshot = next((then / "snapshots").rglob("*.cu")).read_text()
    words = {word for word in snapshot.replace("(", " ").replace(";", " ").split() if len(word) > 4}
    assert not [word for word in words if word in text]
    assert not any(name in text for name in ("s0001", "Ada", "spmm.cu", "Lovelace"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((then / "secret/fingerprint_names.csv").stat().st_mode) == 0o600
    before = {program.name for program in read_fingerprints(file)}
    keep(then, file)
    assert {program.name for program in read_fingerprints(file)} == before, "who has a pseudonym keeps it"


def test_ids_stay_where_the_course_wants_them_and_nobody_is_compared_with_themselves(
    years: tuple[Path, Path, str], tmp_path: Path
) -> None:
    now, _, _ = years
    keep(now, tmp_path / "same.json", "ids")
    kept = read_fingerprints(tmp_path / "same.json")
    assert {program.name for program in kept} == {f"s{i:04d}" for i in range(8)}
    assert {place.file for program in kept for place in program.places.values()} == {"spmm.cu"}
    index, _ = report(now, tmp_path / "out", tmp_path / "same.json")
    pairs = index.split('id="similar-earlier"')[1].split("</table>")[0]
    assert pairs.count('">beside each other</a>') == 2, "the copied pair, from both sides"


def test_the_handout_and_the_staffs_solutions_are_nobodys(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    run = tmp_path / "now"
    shutil.copytree(years[0], run, ignore=shutil.ignore_patterns("class-report"))
    solution = (ROOT / "reference/spmm/optimized/work_list.cuh").read_text()
    for snapshot in sorted((run / "snapshots").iterdir())[:2]:
        (snapshot / "spmm.cu").write_text(f"// {snapshot.name}\n{solution}")
    given = tmp_path / "public/theirs"
    given.mkdir(parents=True)
    (given / "a.cu").write_text(solution)
    index, _ = report(run, tmp_path / "out", tmp_path / "public")
    assert "No submission shares a noticeable stretch with any of these." in index


def test_in_a_given_folder_the_highest_folders_with_sources_are_programs(
    years: tuple[Path, Path, str], tmp_path: Path
) -> None:
    public = tmp_path / "public"
    for place in ("hand-ins/alice/spmm.cu", "hand-ins/alice/src/util.cuh", "hand-ins/bob/kernels/spmm.cu", "carol.cu"):
        (public / place).parent.mkdir(parents=True, exist_ok=True)
        (public / place).write_text(kernel_source(random.Random(place), ["a", "b", "c"]), encoding="utf-8")
    (public / "carol.cu").write_text(disguised(years[2], 1, 2))
    (public / "README.md").write_text("no source")
    index, _ = report(years[0], tmp_path / "out", public)
    assert "Compared with: public (3 programs)" in Page(index).words()
    assert "carol.cupublic" in Page(index).words()


def test_a_program_in_triton_is_found_whatever_its_names(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    source = TRITON.read_text(encoding="utf-8")
    run = tmp_path / "now"
    shutil.copytree(years[0], run, ignore=shutil.ignore_patterns("class-report"))
    snapshot = sorted((run / "snapshots").iterdir())[0]
    (snapshot / "spmm.py").write_text(source, encoding="utf-8")
    (snapshot / "spmm.cu").unlink()
    (tmp_path / "public").mkdir()
    (tmp_path / "public/other.py").write_text(disguised_python(source, 2, 5), encoding="utf-8")
    index, _ = report(run, tmp_path / "out", tmp_path / "public")
    assert "other.pypublic" in Page(index).words()


@pytest.mark.parametrize(
    "content, told",
    [
        (None, "expected a folder or a file of kept fingerprints, got neither"),
        ("not JSON", "expected one JSON object"),
        ('{"schema": "other"}', 'expected schema "warpgrade.fingerprints.v1"'),
        ('{"schema": "warpgrade.fingerprints.v1", "method": {"tokens": 0}}', "keep them anew"),
    ],
)
def test_what_is_no_fingerprints_is_told_with_its_name(
    content: str | None, told: str, years: tuple[Path, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_text(content)
    assert main([str(years[0]), "--no-pdf", "--output", str(tmp_path / "out"), "--against", str(file)]) == 1
    error = capsys.readouterr().err
    assert told in error and "kept.json" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("field, value", [("hashes", 3), ("places", [[9, 1, 1]]), ("places", [["a"]]), ("files", None)])
def test_a_damaged_program_of_a_kept_file_is_told(
    field: str,
    value: int | list[Any] | None,
    years: tuple[Path, Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "kept.json"
    keep(years[1], file)
    kept = json.loads(file.read_text())
    kept["programs"][2][field] = value
    file.write_text(json.dumps(kept))
    assert main([str(years[0]), "--no-pdf", "--output", str(tmp_path / "out"), "--against", str(file)]) == 1
    assert "programs[2]" in capsys.readouterr().err


def test_fingerprints_of_today_are_those_of_the_method_that_files_name() -> None:
    """Kept files of earlier years hold such hashes: whoever changes them counts METHOD up."""
    kept = [1025585296, 1066229097, 952608543, 1266612551, 1030856320, 109344742, 6888676]
    assert (METHOD, list(winnowed(grams(tokens(HANDOUT))))) == (1, kept)


def test_a_folder_without_sources_is_told(
    years: tuple[Path, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main([str(years[0]), "--no-pdf", "--against", str(tmp_path / "empty")]) == 1
    assert "expected sources (.c, .cc, .cpp, .cu" in capsys.readouterr().err


def test_another_file_is_not_written_over(
    years: tuple[Path, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    options = ["--output", str(tmp_path / "out"), "--keep-fingerprints", str(tmp_path / "thesis.txt")]
    assert main([str(years[1]), "--no-pdf", *options]) == 1
    assert "another file" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_hostile_sources_and_names_stay_text(years: tuple[Path, Path, str], tmp_path: Path) -> None:
    public = tmp_path / "public"
    (public / "<b>x\u202e").mkdir(parents=True)
    hostile = "// </pre><script>alert(1)</script> \u202e\n" + disguised(years[2], 1, 2)
    (public / "<b>x\u202e/a.cu").write_text(hostile, encoding="utf-8")
    index, pages = report(years[0], tmp_path / "out", public)
    for text in (index, *pages):
        assert "<script>alert" not in text and "<b>x" not in text and "\u202e" not in text
    assert any("&lt;script&gt;alert" in page for page in pages)
