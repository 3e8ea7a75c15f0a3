"""A student's way: the staff's SpMM ladder handed in step by step, with the records that an H200 gave them.

The times are a GPU's (reports/published/h200/spmm/steps), the sources those that were timed (reference/spmm/steps).
"""

import json
import shutil
from pathlib import Path

import pytest
from warpgrade_reports.work_log import read_work_log, run_folders, students_of
from warpgrade_reports.work_log_page import main

ROOT = Path(__file__).parents[2]
SETS = ROOT / "reports/published/h200/spmm/steps"
NOTES = {2: "note: staging A's entries should make it 1.5x as fast", 3: "note: [columns in groups, 20 % less time]"}


def steps_of(run):
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return sorted(s["id"] for s in described["submissions"] if s["id"].startswith("step-"))


@pytest.fixture
def weeks(tmp_path):
    """Two runs of a class in which Ada handed in one step of the ladder after the other, and Bo the last one alone."""
    number = 0
    runs = []
    for week, published in enumerate(["01-03", "04-05"], 1):
        run = tmp_path / f"week{week}"
        shutil.copytree(SETS / published, run)
        attempts = []
        for step in steps_of(run):
            number += 1
            snapshot = run / "snapshots" / step
            shutil.copytree(ROOT / "reference/spmm/steps" / step.removeprefix("step-"), snapshot)
            if number in NOTES:
                (snapshot / "submission.yaml").write_text(NOTES[number] + "\n", encoding="utf-8")
            attempts.append(attempt("ada", number, step, week))
        if week == 2:
            attempts.append(attempt("bo", 1, attempts[-1]["submission"], week))
        (run / "submissions.json").write_text(
            json.dumps({"schema": "warpgrade.class.v1", "attempts": attempts}), encoding="utf-8"
        )
        runs.append(run)
    return runs


def attempt(student, number, step, week):
    return {
        "student": student,
        "members": [student],
        "attempt": number,
        "status": "graded",
        "submitted_at": f"2026-11-{10 * week + number:02}T12:00:00Z",
        "submission": step,
        "snapshot": f"snapshots/{step}",
    }


def test_versions_come_in_order_with_what_changed_and_what_it_gained(weeks):
    log = read_work_log("ada", weeks)
    assert [step.version.number for step in log.steps] == [1, 2, 3, 4, 5]
    assert log.lab == "spmm"
    first, *later = log.steps
    assert first.gain is None
    assert first.difference == ()
    for step in later:
        assert step.gain is not None
        assert step.gain.of == "time"
        assert step.gain.cases == 26
        assert step.added + step.removed > 10
    # What the H200 measured: rows split among warps are the great step, from the third version to the fourth.
    assert max(later, key=lambda step: step.gain.factor).version.number == 4
    assert later[2].gain.certain
    assert later[2].gain.factor > 2
    assert log.over_first[-1] == pytest.approx(
        later[0].gain.factor * later[1].gain.factor * later[2].gain.factor * later[3].gain.factor
    )


def test_a_gain_is_the_mean_of_the_cases_ratios(weeks):
    records = [json.loads(line) for run in weeks for line in (run / "records.jsonl").open(encoding="utf-8")]
    times = {(r["submission"]["id"], r["case"]["id"]): r["timing"]["median_us"] for r in records if "timing" in r}
    names = [name for run in weeks for name in steps_of(run)]
    ratios = [times[names[2], case] / times[names[3], case] for name, case in times if name == names[3]]
    mean = 1.0
    for ratio in ratios:
        mean *= ratio ** (1 / len(ratios))
    assert read_work_log("ada", weeks).steps[3].gain.factor == pytest.approx(mean)


def test_claims_stand_beside_what_was_measured(weeks):
    log = read_work_log("ada", weeks)
    second, third = log.steps[1], log.steps[2]
    assert second.version.claims == 1.5
    assert second.said.startswith("expected 1.5 times; measured: ")
    assert third.version.notes == ("columns in groups", "20 % less time")
    assert third.version.claims == pytest.approx(1.25)
    assert log.notes == 2
    assert log.unmeasured_notes == 0
    assert "note" not in "".join(second.version.sources)  # the manifest is no source


def test_the_same_sources_are_one_version(weeks):
    run = weeks[1]
    given = json.loads((run / "submissions.json").read_text(encoding="utf-8"))
    again = dict(given["attempts"][1], attempt=9, submitted_at="2026-11-29T12:00:00Z")
    given["attempts"].append(again)
    (run / "submissions.json").write_text(json.dumps(given), encoding="utf-8")
    assert len(read_work_log("ada", weeks).steps) == 5


def test_times_of_two_gpu_models_are_not_compared(weeks):
    file = weeks[1] / "run.json"
    run = json.loads(file.read_text(encoding="utf-8"))
    run["device"]["name"] = "NVIDIA H100 80GB HBM3"
    file.write_text(json.dumps(run), encoding="utf-8")
    log = read_work_log("ada", weeks)
    assert log.steps[3].gain is None
    assert log.over_first[3:] == [None, None]


def test_work_that_arrives_whole_is_listed(weeks, tmp_path):
    assert students_of(weeks) == ["ada", "bo"]
    assert read_work_log("bo", weeks).whole_at_once
    assert not read_work_log("ada", weeks).whole_at_once
    assert main([*map(str, weeks), "--output", str(tmp_path / "logs")]) == 0
    index = (tmp_path / "logs/index.html").read_text(encoding="utf-8")
    assert index.count("arrived whole") == 2  # the remark, and the words above the table
    assert (tmp_path / "logs/1.html").exists()


def test_what_students_wrote_is_text_on_the_page(weeks, tmp_path):
    source = weeks[0] / "snapshots" / steps_of(weeks[0])[1]
    (source / "submission.yaml").write_text("note: <script>alert(1)</script>\n", encoding="utf-8")
    (source / "spmm.cu").write_text("<img src=x onerror=alert(2)>\n", encoding="utf-8")
    (source / "link.cu").symlink_to("/etc/passwd")
    assert main([*map(str, weeks), "--student", "ada", "--output", str(tmp_path / "ada.html")]) == 0
    page = (tmp_path / "ada.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "root:" not in page


def test_a_manifest_that_is_no_yaml_has_no_notes(weeks):
    source = weeks[0] / "snapshots" / steps_of(weeks[0])[1]
    for text in ["note: [", "- a\n- b\n", "note: {a: 1}\n", "note: 7\n", "[" * 3000]:
        (source / "submission.yaml").write_text(text, encoding="utf-8")
        assert read_work_log("ada", weeks).steps[1].version.notes == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--student", "zoe"], "there is ada, bo"), (["nowhere"], "expected a run's folder")],
    ids=["no such student", "no run"],
)
def test_what_cannot_be_shown_has_one_line(weeks, tmp_path, capsys, arguments, message):
    places = [] if "nowhere" in arguments else [str(run) for run in weeks]
    assert main([*places, *arguments, "--output", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


def test_a_run_without_hand_ins_is_refused_and_no_empty_list_is_made(tmp_path, capsys):
    assert main([str(SETS / "01-03"), "--output", str(tmp_path / "out")]) == 1
    assert "judge the class with `warpgrade batch`" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_desks_runs_are_found_below_its_folder(weeks, tmp_path):
    for number, run in enumerate(weeks):
        shutil.copytree(run, tmp_path / f"desk/runs/{number}/run")
    assert len(run_folders([tmp_path / "desk"])) == 2
    assert len(read_work_log("ada", run_folders([tmp_path / "desk"])).steps) == 5
