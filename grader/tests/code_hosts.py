"""What GitHub and GitLab read of a job, as their own sources read it.

GitHub: github.com/actions/runner, src/Runner.Common/ActionCommand.cs (TryParseV2), and in src/Runner.Worker
ActionCommandManager.cs (IssueCommandExtension), FileCommandManager.cs (CreateStepSummaryCommand). GitLab: in
github.com/gitlabhq/gitlabhq app/validators/json_schemas/codeclimate.json and
lib/gitlab/ci/reports/codequality_reports.rb.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema

MOST_SUMMARY = 128 * 1024  # bytes; newer runners take 1 MiB
SEVERITIES = {"blocker", "critical", "major", "minor", "info", "unknown"}
DEGRADATION = {
    "type": "object",
    "required": ["description", "fingerprint", "severity", "location"],
    "properties": {
        **{name: {"type": "string"} for name in ("description", "fingerprint", "severity")},
        "location": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "lines": {"type": "object", "properties": {"begin": {"type": "integer"}}},
                "positions": {
                    "type": "object",
                    "properties": {"begin": {"type": "object", "properties": {"line": {"type": "integer"}}}},
                },
            },
        },
    },
}


@dataclass
class WorkflowCommand:
    """A line of a job's log that GitHub's runner carries out."""

    name: str
    data: str
    properties: dict[str, str] = field(default_factory=dict)


def taken_back(text: str, *, is_property: bool) -> str:
    """The runner's unescaping, in its order."""
    signs = [("%0D", "\r"), ("%0A", "\n"), *([("%3A", ":"), ("%2C", ",")] if is_property else []), ("%25", "%")]
    for written, sign in signs:
        text = text.replace(written, sign)
    return text


def commands_in(log: str) -> list[WorkflowCommand]:
    """Every line that the runner takes for a command, whatever it is called."""
    found = []
    for line in log.splitlines():
        text = line.lstrip()
        assert "##[" not in text, "the older form of a command, which counts anywhere in a line"
        head, separator, data = text.removeprefix("::").partition("::")
        if not text.startswith("::") or not separator:
            continue
        name, _, words = head.partition(" ")
        pairs = [pair.split("=", 1) for pair in words.strip().split(",") if pair]
        properties = {pair[0]: taken_back(pair[1], is_property=True) for pair in pairs if len(pair) > 1 and pair[1]}
        found.append(WorkflowCommand(name, taken_back(data, is_property=False), properties))
    return found


def code_quality(text: str) -> list[dict[str, Any]]:
    """The entries that GitLab takes: it stops at the first that its schema refuses, and keeps one of a fingerprint."""
    entries = json.loads(text)
    for entry in entries:
        jsonschema.validate(entry, DEGRADATION)
        assert entry["severity"] in SEVERITIES
        assert entry["location"]["path"], "it makes a link of the path"
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    return list(entries)


def line_of(entry: dict[str, Any]) -> int:
    """Where GitLab's link leads."""
    location = entry["location"]
    return int(location["lines"]["begin"] if "lines" in location else location["positions"]["begin"]["line"])
