"""PrairieLearn, from github.com/PrairieLearn/PrairieLearn.

The upload of question scores: apps/prairielearn/src/lib/score-upload.ts. An external grader's results.json: "Grading
results" in docs/externalGrading.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .people import ImportRefusedError, LmsPerson, one, rows_of


def prairielearn_scores(file: Path, people: list[LmsPerson], qid: str) -> dict[str, float]:
    """Percent by key; a row of nobody is an error of that row, one without values is passed over."""
    header, *rows = rows_of(file.read_text(encoding="utf-8"))
    header = [title.lower() for title in header]
    percent: dict[str, float] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        person = one(people, lambda p: p.email, cells["uid"])
        if person is None or cells["qid"] != qid or cells["instance"] != "1":
            raise ImportRefusedError(f"Could not locate submission: {row}")
        if cells["score_perc"]:
            percent[person.key] = float(cells["score_perc"])
    return percent


def prairielearn_results(results: dict[str, Any], size: int) -> float:
    """The score that PrairieLearn takes from results.json."""
    if size > 2**20:
        raise ImportRefusedError("the file is limited to 1 MB")
    score = results["score"]
    if not results.get("gradable", True) or isinstance(score, bool) or not 0 <= score <= 1:
        raise ImportRefusedError(f"score {score!r} is not in the range [0.0, 1.0]")
    for test in results["tests"]:
        assert {"name", "points", "max_points"} <= test.keys()
    return float(score)
