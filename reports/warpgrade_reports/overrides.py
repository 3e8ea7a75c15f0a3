"""Points that a person set, in place of the computed ones: what `warpgrade report` tells of the run's gradebook.

Reads warpgrade.overrides.v1: {gradebook: {path, entry, at}, submissions: {ID: {owners, set: [{student, points,
reason}]}}}; only submissions with such points are in it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path, PurePath

from warpgrade_reports import format as fmt
from warpgrade_reports.model import Run, SetPoints, Submission
from warpgrade_reports.source import Node, read_node

LEFT_OUT = "These are computed: what persons set in the run's gradebook is left out (--without-overrides)."


def with_overrides(run: Run, file: Path) -> Run:
    """The run with the points that count."""
    node = read_node(file, "make it with `warpgrade report`")
    node.require_schema("warpgrade.overrides.v1")
    found = node.child("submissions")
    book = node.child("gradebook")
    submissions = tuple(
        _with_set_points(s, found.child(s.id)) if s.counts and s.id in found.value else s for s in run.submissions
    )
    number = sum(bool(s.set_points) for s in submissions)
    source = f"gradebook {PurePath(book.text('path')).name} at entry {book.integer('entry')} ({book.text('at')})"
    note = f"A person set those of {fmt.plural(number, 'submission')}, in place of the computed ones: {source}."
    return dataclasses.replace(run, submissions=submissions, points_note=note if number else "")


def points_remark(submission: Submission) -> str:
    """That the points are a person's, with the computed ones; of a team whose members differ, whose are what."""
    if submission.computed_points is not None:
        return f"set by a person; computed {fmt.points(submission.computed_points)}"
    return ", ".join(f"{p.student}: {fmt.points(p.points)}, set by a person" for p in submission.set_points)


def _with_set_points(submission: Submission, node: Node) -> Submission:
    """A team's members may have points of their own: these are told, and the team keeps the computed ones."""
    points = tuple(
        SetPoints(line.text("student"), line.required_number("points"), line.optional_text("reason"))
        for line in node.children("set", required=True)
    )
    for_all = len(points) == node.integer("owners") and len({p.points for p in points}) == 1
    return dataclasses.replace(
        submission,
        set_points=points,
        points=points[0].points if for_all else submission.points,
        computed_points=submission.points if for_all else None,
    )
