"""`warpgrade note` and `warpgrade journey`, as a student and the staff type them; the judge takes what note wrote.

A student's way is here the staff's SpMM ladder, handed in step by step, with the records that an H200 gave them: the
times are a GPU's (h200/spmm/steps of reports/published), the sources those that were timed (reference/spmm/steps).
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, warpgrade
from generated_class import sealed

NOTES = {2: "note: staging A's entries should make it 1.5x as fast", 3: "note: [columns in groups, 20 % less time]"}
VECTOR_ADD = ROOT / "reference/vector_add"
NOTE = 'two numbers a thread: "1.5x", 20 % less; tab\there'


def hand_in(folder: Path, solution: str) -> Path:
    """A student's folder of vector_add with one of the staff's solutions."""
    own = folder / "vector_add"
    own.mkdir(parents=True, exist_ok=True)
    for file in (VECTOR_ADD / solution).iterdir():
        (own / file.name).write_bytes(file.read_bytes())
    return own


def note(folder: Path, text: str, lab: str = "vector_add") -> str:
    """What the command says; it must be taken."""
    done = warpgrade("note", lab, text, "--folder", folder)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_note_stands_in_the_manifest_beside_what_was_there(tmp_path: Path) -> None:
    manifest = hand_in(tmp_path, "naive") / "submission.yaml"
    manifest.write_text("title: Ada\nnote:\n  - of\n  - before\nflags: [-O2]\n", encoding="utf-8")
    note(tmp_path, NOTE)
    given = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    assert given == {"title": "Ada", "flags": ["-O2"], "note": NOTE.replace("\t", " ")}
    note(tmp_path, "another")
    assert yaml.safe_load(manifest.read_text(encoding="utf-8"))["note"] == "another"
    assert manifest.read_text(encoding="utf-8").count("note:") == 1


@pytest.mark.parametrize(
    ("lab", "text", "message"),
    [
        ("vector_ad", "x", "no lab is named 'vector_ad'"),
        ("scan", "x", "expected your folder of lab scan"),
        ("vector_add", "  ", "expected a sentence"),
    ],
    ids=["lab", "folder", "empty"],
)
def test_what_is_no_note_changes_nothing(tmp_path: Path, lab: str, text: str, message: str) -> None:
    own = hand_in(tmp_path, "naive")
    done = warpgrade("note", lab, text, "--folder", tmp_path)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (own / "submission.yaml").exists()


def test_a_journey_shows_versions_that_were_judged_with_their_notes(tmp_path: Path) -> None:
    """Two weeks on the emulator: it counts instructions, so the second version's gain is of these."""
    for week, solution in enumerate(["naive", "optimized"], 1):
        lab = hand_in(tmp_path / f"hand-ins{week}/ada", solution)
        note(lab.parent, f"version {week}: 1.5x")
        for file in [*lab.iterdir()]:
            file.rename(lab.parent / file.name)
        lab.rmdir()
        done = warpgrade(
            "batch", tmp_path / f"week{week}", "--lab", "vector_add", "--submissions", tmp_path / f"hand-ins{week}",
            "--cases", "odd", "--backend", "emulator",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    output = tmp_path / "pages"
    done = warpgrade("journey", tmp_path / "week1", tmp_path / "week2", "--output", output)
    assert done.returncode == 0, done.stderr
    page = (output / "1.html").read_text(encoding="utf-8")
    assert "version 1: 1.5x" in page
    assert "expected 1.5 times; measured: " in page
    assert "warp instructions" in page
    scores = json.loads((tmp_path / "week2/scores.json").read_text(encoding="utf-8"))
    assert scores["submissions"][0]["verdict"] == "accepted", "a note changes no verdict"


# ---- what is counted


def steps_of(run: Path) -> list[str]:
    """The ladder's steps that were judged in this run."""
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return sorted(s["id"] for s in described["submissions"] if s["id"].startswith("step-"))


def attempt(student: str, number: int, step: str, at: str) -> dict[str, Any]:
    """One of submissions.json."""
    return {
        "student": student,
        "members": [student],
        "attempt": number,
        "status": "graded",
        "submitted_at": at,
        "submission": step,
        "snapshot": f"snapshots/{step}",
    }


def write_class(run: Path, attempts: list[dict[str, Any]]) -> None:
    """The class list of these attempts."""
    students = [{"id": student} for student in sorted({each["student"] for each in attempts})]
    (run / "submissions.json").write_text(
        json.dumps({"schema": "warpgrade.class.v1", "students": students, "attempts": attempts}), encoding="utf-8"
    )


@pytest.fixture
def weeks(sets: Path, tmp_path: Path) -> list[Path]:
    """Two runs of a class in which Ada handed in one step of the ladder after the other, and Bo the last one alone."""
    number = 0
    runs = []
    for week, published in enumerate(["01-03", "04-05"], 1):
        run = tmp_path / f"week{week}"
        shutil.copytree(sets / "h200/spmm/steps" / published, run)
        attempts = []
        for step in steps_of(run):
            number += 1
            snapshot = run / "snapshots" / step
            shutil.copytree(ROOT / "reference/spmm/steps" / step.removeprefix("step-"), snapshot)
            if number in NOTES:
                (snapshot / "submission.yaml").write_text(NOTES[number] + "\n", encoding="utf-8")
            attempts.append(attempt("ada", number, step, f"2026-11-{10 * week + number:02}T12:00:00Z"))
        if week == 2:
            attempts.append(dict(attempts[-1], student="bo", members=["bo"], attempt=1))
        write_class(run, attempts)
        runs.append(run)
    return runs


def change_class(run: Path, change: Any) -> None:
    """The class list with another list of attempts."""
    given = json.loads((run / "submissions.json").read_text(encoding="utf-8"))
    write_class(run, change(given["attempts"]))


def counted(places: list[Path], student: str = "ada") -> dict[str, Any]:
    """What `warpgrade journey --json` says of the student."""
    done = warpgrade("journey", *places, "--student", student, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["lab"] == "spmm"
    (line,) = found["students"]
    return dict(line)


def records_of(run: Path) -> list[dict[str, Any]]:
    """All of the run."""
    return [json.loads(line) for line in (run / "records.jsonl").open(encoding="utf-8")]


def most_certain(before: dict[str, Any], after: dict[str, Any]) -> float:
    """How the speed-up of a case grew, over the baseline that says it within the narrowest interval."""

    def squared_width(baseline: str) -> float:
        return sum(math.log(r[baseline]["high"] / r[baseline]["low"]) ** 2 for r in (before, after))

    baseline = min(after.keys() - {"self"}, key=squared_width)
    return float(after[baseline]["median"] / before[baseline]["median"])


def test_a_gain_is_the_mean_of_how_the_cases_speedups_grew(weeks: list[Path]) -> None:
    records = [record for run in weeks for record in records_of(run)]
    speedups = {(r["submission"]["id"], r["case"]["id"]): r["ratios"] for r in records if "ratios" in r}
    names = [name for run in weeks for name in steps_of(run)]
    cases = [case for name, case in speedups if name == names[3]]
    mean = math.prod(
        most_certain(speedups[names[2], case], speedups[names[3], case]) ** (1 / len(cases)) for case in cases
    )
    versions = counted(weeks)["versions"]
    assert len(versions) == 5
    assert "gain" not in versions[0]
    assert versions[3]["gain"]["factor"] == pytest.approx(mean)
    assert [version["gain"]["cases"] for version in versions[1:]] == [26] * 4
    assert {version["gain"]["of"] for version in versions[1:]} == {"time"}
    # What the H200 measured: rows split among warps are the great step, from the third version to the fourth.
    assert max(versions[1:], key=lambda version: version["gain"]["factor"]) is versions[3]
    assert versions[3]["gain"]["certain"]
    assert versions[3]["gain"]["low"] > 2


def test_a_gpu_that_was_slower_in_another_week_makes_no_gain(weeks: list[Path]) -> None:
    """The same program judged twice; in the first week everything took a fifth longer, the baselines too."""
    run = weeks[1]
    step = steps_of(run)[0]
    shutil.copytree(run, weeks[0], dirs_exist_ok=True)
    source = weeks[1] / "snapshots" / step / "spmm.cu"
    source.write_text(source.read_text(encoding="utf-8") + "// other names, the same work\n", encoding="utf-8")
    slower = records_of(weeks[0])
    for record in slower:
        for time in ("median_us", "low_us", "high_us"):
            record["timing"][time] *= 1.2
    (weeks[0] / "records.jsonl").write_text("".join(map(sealed, slower)), encoding="utf-8")
    for week, place in enumerate(weeks):
        write_class(place, [attempt("ada", week + 1, step, f"2026-11-1{week}T12:00:00Z")])
    line = counted(weeks)
    assert line["counts"]["versions"] == 2
    gain = line["versions"][1]["gain"]
    assert gain["factor"] == pytest.approx(1)
    assert not gain["certain"]
    assert line["counts"]["gains"] == 0


def test_versions_notes_and_gains_are_counted(weeks: list[Path]) -> None:
    line = counted(weeks)
    gains = [version["gain"] for version in line["versions"][1:]]
    beyond_noise = sum(gain["low"] > 1 for gain in gains)
    assert line["counts"] == {"versions": 5, "notes": 2, "gains": beyond_noise, "arrived_whole": False}
    assert beyond_noise >= 2
    assert line["versions"][2]["notes"] == ["columns in groups", "20 % less time"]
    assert counted(weeks, "bo")["counts"] == {"versions": 1, "notes": 0, "gains": 0, "arrived_whole": True}


def test_a_note_alone_makes_no_version_and_joins_the_one_that_it_is_about(weeks: list[Path]) -> None:
    run, step = weeks[1], steps_of(weeks[1])[1]
    again = run / "snapshots" / "again"
    shutil.copytree(run / "snapshots" / step, again)
    (again / "submission.yaml").write_text("note: what I think now\n", encoding="utf-8")
    late = dict(attempt("ada", 9, step, "2026-11-29T12:00:00Z"), snapshot="snapshots/again")
    change_class(run, lambda attempts: [*attempts, late])
    line = counted(weeks)
    assert line["counts"]["versions"] == 5
    assert line["counts"]["notes"] == 3
    assert line["versions"][4]["notes"] == ["what I think now"]
    (again / "submission.yaml").write_text("note: what I think now\nflags: [-O2]\n", encoding="utf-8")
    assert counted(weeks)["counts"]["versions"] == 6, "flags are the program's"


def test_going_back_to_an_earlier_program_is_no_new_version(weeks: list[Path]) -> None:
    run = weeks[1]
    back = dict(attempt("ada", 9, steps_of(run)[0], "2026-11-29T12:00:00Z"))
    change_class(run, lambda attempts: [*attempts, back])
    assert counted(weeks)["counts"]["versions"] == 5


def test_what_is_no_program_is_no_version(weeks: list[Path]) -> None:
    run = weeks[1]
    for name, text in {"b": "note: [", "c": "[" * 3000}.items():
        shutil.copytree(run / "snapshots" / steps_of(run)[1], run / "snapshots" / name)
        (run / "snapshots" / name / "submission.yaml").write_text(text, encoding="utf-8")
    (run / "snapshots/report").mkdir()
    (run / "snapshots/report/report.txt").write_text("I tried\n", encoding="utf-8")
    (run / "snapshots/linked").mkdir()
    (run / "snapshots/linked/spmm.cu").symlink_to(run / "snapshots" / steps_of(run)[0] / "spmm.cu")
    more = [
        dict(attempt("ada", 20 + number, "none", "2026-11-29T12:00:00Z"), snapshot=f"snapshots/{name}")
        for number, name in enumerate(["b", "c", "report", "linked"])
    ]
    change_class(run, lambda attempts: [*attempts, *more])
    assert counted(weeks)["counts"]["versions"] == 5


def test_times_of_two_gpu_models_are_not_compared(weeks: list[Path]) -> None:
    file = weeks[1] / "run.json"
    run = json.loads(file.read_text(encoding="utf-8"))
    run["device"]["name"] = "NVIDIA H100 80GB HBM3"
    file.write_text(json.dumps(run), encoding="utf-8")
    versions = counted(weeks)["versions"]
    assert "gain" not in versions[3]
    assert "gain" in versions[4]


def test_a_desks_runs_are_found_below_its_folder(weeks: list[Path], tmp_path: Path) -> None:
    for number, run in enumerate(weeks):
        shutil.copytree(run, tmp_path / f"desk/runs/{number}/run")
    assert counted([tmp_path / "desk"])["counts"]["versions"] == 5
    assert counted([tmp_path / "desk", *weeks])["counts"] == counted(weeks)["counts"], "judged twice"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--student", "zoe"], "there is ada, bo"),
        (["--lab", "scan"], "hand-ins (submissions.json with snapshots) of lab scan, got none"),
        (["--student", "ada", "--keep-in", "."], "leave --student out"),
    ],
    ids=["no such student", "another lab", "kept for one"],
)
def test_what_cannot_be_counted_has_one_line(weeks: list[Path], arguments: list[str], message: str) -> None:
    done = warpgrade("journey", *weeks, *arguments)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_hand_in_that_is_gone_is_told(weeks: list[Path]) -> None:
    shutil.rmtree(weeks[0] / "snapshots" / steps_of(weeks[0])[0])
    done = warpgrade("journey", *weeks, "--json")
    assert done.returncode != 0
    assert "put it back" in done.stderr


def test_a_run_without_hand_ins_is_refused(sets: Path, tmp_path: Path) -> None:
    done = warpgrade("journey", sets / "h100/spmm", "--student", "zoe", "--output", tmp_path / "x")
    assert done.returncode != 0
    assert "expected hand-ins" in done.stderr
    assert not (tmp_path / "x").exists()
    assert "expected a run's folder" in warpgrade("journey", tmp_path).stderr


# ---- pages


def test_claims_stand_beside_what_was_measured(weeks: list[Path], tmp_path: Path) -> None:
    done = warpgrade("journey", *weeks, "--output", tmp_path / "logs")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "logs/1.html").read_text(encoding="utf-8")
    assert "expected 1.5 times; measured: " in page
    assert "expected 1.25 times; measured: " in page
    assert "beyond noise" in page
    assert page.count('<section id="version-') == 5
    assert "submission.yaml" not in page, "the manifest is no source"
    index = (tmp_path / "logs/index.html").read_text(encoding="utf-8")
    assert index.count("arrived whole") == 2  # the remark, and the words above the table


def test_what_students_wrote_is_text_on_the_page(weeks: list[Path], tmp_path: Path) -> None:
    source = weeks[0] / "snapshots" / steps_of(weeks[0])[1]
    (source / "submission.yaml").write_text("note: <script>alert(1)</script>\n", encoding="utf-8")
    with (source / "spmm.cu").open("a", encoding="utf-8") as file:
        file.write("// <img src=x onerror=alert(2)>\n")
    (source / "link.txt").symlink_to("/etc/passwd")
    done = warpgrade("journey", *weeks, "--student", "ada", "--output", tmp_path / "ada.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "ada.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "root:" not in page


# ---- bounds and counters


def test_each_version_stands_beside_what_the_gpu_allows(weeks: list[Path], tmp_path: Path) -> None:
    """The shares are the least time of a case over the time that the H200 took."""
    line = counted(weeks)
    records = {(r["submission"]["id"], r["case"]["id"]): r for run in weeks for r in records_of(run)}
    names = [name for run in weeks for name in steps_of(run)]
    means = []
    for name, version in zip(names, line["versions"], strict=True):
        (judged,) = version["judged"]
        assert judged["submission"] == name
        for case, limit in judged["limits"].items():
            record = records[name, case]
            assert limit["share"] == pytest.approx(limit["us"] / record["timing"]["median_us"])
            if limit["bound_by"] == "DRAM":  # what L2 may hold of the output need not be moved
                floor, device = record["floor"], record["device"]
                moved = (floor["compulsory_bytes"] - device["l2_bytes"]) / floor["compulsory_bytes"]
                assert moved < limit["us"] / floor["floor_us"] < 1.2, case
        assert len(judged["limits"]) == 26
        shares = [limit["share"] for limit in judged["limits"].values()]
        means.append(math.prod(share ** (1 / len(shares)) for share in shares))
    assert means[3] > 2 * means[2], "rows that are split among warps are the great step"
    page = page_of(weeks, tmp_path)
    assert f"reaches {100 * means[3]:.1f} % of what the GPU allows in 26 cases" in page
    assert f"{100 * means[2]:.1f} % before" in page


def page_of(places: list[Path], tmp_path: Path) -> str:
    """Ada's."""
    done = warpgrade("journey", *places, "--student", "ada", "--output", tmp_path / "ada.html")
    assert done.returncode == 0, done.stderr
    return (tmp_path / "ada.html").read_text(encoding="utf-8")


def ncu_counted(step: str) -> dict[str, float]:
    """What ncu counted of a step's kernel on an H200."""
    with (ROOT / f"grader/emulator/tests/hardware/records/h200/spmm_{step}_k32.csv").open(encoding="utf-8") as file:
        row = [row for row in csv.DictReader(file) if row["ID"]][-1]
    number = {
        name: float(text.replace(",", "")) for name, text in row.items() if name.endswith("ed.sum") or "op_ld" in name
    }
    loads = {what: number[f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum"] for what in ("requests", "sectors")}
    return {
        "warp instr.": number["smsp__inst_executed.sum"],
        "load requests": loads["requests"],
        "load sectors/req": loads["sectors"] / loads["requests"],
    }


def keep_counted(folder: Path, program: str, figures: dict[str, float]) -> None:
    """As the desk leaves it in the folder of a run with counters."""
    folder.mkdir(parents=True)
    lines = [{"name": name, "hardware": value} for name, value in figures.items()]
    summary = {
        "schema": "warpgrade.hardware.v1",
        "lab": "spmm",
        "submission": program,
        "case": "synth-uniform-k32",
        "device": "NVIDIA H200",
        "kernels": [{"kernel": "spmm_kernel", "launches": 1, "figures": lines}],
    }
    (folder / "hardware.json").write_text(json.dumps(summary), encoding="utf-8")


def test_what_the_desk_counted_on_a_gpu_stands_at_the_version_that_it_is_of(weeks: list[Path], tmp_path: Path) -> None:
    programs = [version["program"] for version in counted(weeks)["versions"]]
    steps = ["03_column_groups", "04_row_split"]
    for number, step in enumerate(steps, 2):
        keep_counted(tmp_path / f"desk/requests/{number}", programs[number], ncu_counted(step))
    keep_counted(tmp_path / "desk/requests/9", "of nobody", ncu_counted(steps[0]))
    # What a student packed is no summary, and no run.
    keep_counted(tmp_path / "desk/requests/8/run/snapshots/x", programs[0], ncu_counted(steps[0]))
    shutil.copytree(weeks[0], tmp_path / "desk/requests/8/run/snapshots/y")
    places = [*weeks, tmp_path / "desk"]
    versions = counted(places)["versions"]
    assert [len(version.get("counted", ())) for version in versions] == [0, 0, 1, 1, 0]
    was, now = (ncu_counted(step)["load requests"] for step in steps)
    page = page_of(places, tmp_path)
    assert "counted by the NVIDIA H200 on synth-uniform-k32: " in page
    assert f"load requests {was:,.0f} → {now:,.0f}" in page


def test_a_run_in_what_a_student_packed_is_no_run_of_the_desk(weeks: list[Path], tmp_path: Path) -> None:
    shutil.copytree(weeks[0], tmp_path / "desk/requests/8/run/snapshots/y")
    done = warpgrade("journey", tmp_path / "desk", "--student", "ada", "--json")
    assert done.returncode != 0
    assert "expected a run's folder" in done.stderr


# ---- points


def policy_with_journey(file: Path, asked: str) -> Path:
    """The lab's own, of which ten points are for the way there."""
    text = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    changed = text.replace("  speed: 60 ", "  speed: 50\n  journey: 10\n  # ", 1)
    assert changed != text
    file.write_text(f"{changed}\njourney: {asked}\n", encoding="utf-8")
    return file


def scored(run: Path, policy: Path) -> dict[str, Any]:
    """Ada's line of the scores that the run has under this policy."""
    done = warpgrade("score", run, "--policy", policy)
    assert done.returncode == 0, done.stdout + done.stderr
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert scores["max_points"] == 100
    return dict(next(s for s in scores["submissions"] if s["id"] == steps_of(run)[-1]))


def as_hand_ins(run: Path) -> None:
    """The run's own list of submissions with the students of its class list."""
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    owner = {each["submission"]: each for each in json.loads((run / "submissions.json").read_text())["attempts"]}
    for submission in described["submissions"]:
        if submission["id"] in owner:
            own = owner[submission["id"]]
            submission.update(role="student", student=own["student"], members=own["members"])
            submission["attempt"] = own["attempt"]
    (run / "run.json").write_text(json.dumps(described), encoding="utf-8")


def test_old_records_are_scored_anew_without_a_gpu(weeks: list[Path], tmp_path: Path) -> None:
    """Week two's run alone has two of Ada's versions; with week one's counted in it, all five."""
    run = weeks[1]
    change_class(run, lambda attempts: [each for each in attempts if each["student"] == "ada"])
    as_hand_ins(run)
    policy = policy_with_journey(tmp_path / "way.yaml", "{versions: 4, notes: 2}")
    before = scored(run, policy)
    assert before["journey"]["versions"] == 2
    assert before["parts"]["journey"] == pytest.approx(10 * (2 / 4 + 0) / 2)
    done = warpgrade("journey", *weeks, "--keep-in", run)
    assert done.returncode == 0, done.stderr
    after = scored(run, policy)
    assert (after["journey"]["versions"], after["journey"]["notes"]) == (5, 2)
    assert after["parts"]["journey"] == pytest.approx(10)
    assert after["points"] == pytest.approx(before["points"] + 7.5)
    assert sum(after["parts"].values()) == pytest.approx(after["points"])
    again = warpgrade("rescore", run, "--policy", policy, "--yes")
    assert again.returncode == 0, again.stderr
    assert "no grade changes" in again.stdout
    (run / "journey.json").write_text("[]", encoding="utf-8")
    refused = warpgrade("score", run)
    assert refused.returncode != 0
    assert "journey.json: expected what `warpgrade journey" in refused.stderr.replace("build/bin/", "")


def test_students_staff_and_courseware_get_points_that_add_up(tmp_path: Path) -> None:
    """A class on the emulator: Ada's second hand-in has a note, Bo's work came whole."""
    hand_ins = tmp_path / "hand-ins"
    for student, solution in [("ada", "naive"), ("bo", "optimized")]:
        lab = hand_in(hand_ins / student, solution)
        if student == "ada":
            note(lab.parent, "one number a thread")
    policy = tmp_path / "way.yaml"
    text = (ROOT / "grader/policies/vector_add.yaml").read_text(encoding="utf-8")
    points = "points: {correctness: 40, speed: 40, journey: 20}\njourney: {versions: 2, notes: 1}\n"
    kept, inside = [], False
    for line in text.split("\n"):
        inside = line.startswith("points:") or (inside and line.startswith((" ", "#")))
        kept += [] if inside else [line]
    policy.write_text("\n".join(kept) + "\n" + points, encoding="utf-8")
    run = tmp_path / "run"
    done = warpgrade(
        "batch", run, "--lab", "vector_add", "--submissions", hand_ins, "--cases", "odd", "--backend", "emulator",
        "--policy", policy,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    scores = {s["student"]: s for s in json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"]}
    assert scores["ada"]["points"] == pytest.approx(40 + 20 * (1 / 2 + 1) / 2)
    assert scores["bo"]["points"] == pytest.approx(40 + 20 * (1 / 2 + 0) / 2)
    assert scores["bo"]["journey"]["arrived_whole"]
    assert scores["ada"]["measured_points"] == 60
    assert scores["ada"]["max_points"] == 100
    done = warpgrade("export", run)
    assert done.returncode == 0, done.stdout + done.stderr
    view = json.loads((run / "export/feedback/ada/feedback.json").read_text(encoding="utf-8"))
    assert sum(view["parts"].values()) == pytest.approx(view["points"])
    assert "1 of 2 versions, 1 of 1 with a note" in (run / "export/feedback/ada/index.html").read_text(encoding="utf-8")
    results = json.loads((run / "export/gradescope/ada.json").read_text(encoding="utf-8"))
    assert sum(test["score"] for test in results["tests"]) == pytest.approx(results["score"])
    autolab = (run / "export/autolab/ada.txt").read_text(encoding="utf-8").strip().split("\n")[-1]
    assert sum(json.loads(autolab)["scores"].values()) == pytest.approx(view["points"])
    page = (run / "export/class-report/index.html").read_text(encoding="utf-8")
    assert "points for the way" in page
    assert "Arrived whole" in page
    gradebook = tmp_path / "course.sqlite"
    done = warpgrade("collect", run, "--gradebook", gradebook)
    assert done.returncode == 0, done.stdout + done.stderr
    grades = warpgrade("grades", "--gradebook", gradebook, "--format", "json")
    grade = {each["student"]: each for each in json.loads(grades.stdout)}["ada"]
    assert (grade["points"], grade["max_points"]) == (pytest.approx(55), 100)


def test_a_policy_shows_what_the_way_there_is_worth(tmp_path: Path) -> None:
    policy = policy_with_journey(tmp_path / "way.yaml", "{versions: 4, notes: 2, gains: 2}")
    assert "and 10 for the way there" in warpgrade("policy", "check", policy).stdout
    samples = {s["sample"]: s for s in json.loads(warpgrade("policy", "show", policy, "--json").stdout)["samples"]}
    assert samples["all correct, every threshold reached"]["points"] == pytest.approx(100)
    at_once = samples["all reached, in one version without a note"]
    assert at_once["parts"]["journey"] == pytest.approx(10 / 3 / 4)
    assert samples["a hand-in that was refused"]["points"] == 0


@pytest.mark.parametrize("kept", ["{", "[]", '{"students": {"ada": {}}}', '{"students": {"ada": {"versions": "x"}}}'])
def test_damaged_counts_are_named_with_what_to_do(weeks: list[Path], tmp_path: Path, kept: str) -> None:
    text = kept.replace("{", '{"schema": "warpgrade.journey.v1", ', 1) if "students" in kept else kept
    (weeks[1] / "journey.json").write_text(text, encoding="utf-8")
    as_hand_ins(weeks[1])
    done = warpgrade("score", weeks[1], "--policy", policy_with_journey(tmp_path / "policy.yaml", "{versions: 3}"))
    assert done.returncode != 0
    assert "journey.json: expected what `warpgrade journey RUN... --keep-in RUN` writes; write it anew" in done.stderr
