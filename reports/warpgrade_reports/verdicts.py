"""How each verdict looks and reads: one letter, one colour, one sentence, the same in page, plots and tables.

They stand in the judge's own list (grader/record/verdict.h), from which the schema beside this file is made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("record_schema.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class VerdictStyle:
    """A verdict's appearance; `colour` is for plots, the page takes the same from its style sheet."""

    name: str
    letter: str
    label: str
    colour: str
    meaning: str


# Warm colours are the submission's faults, blue is the judge's, grey is nobody's. Letters carry the same
# information for readers who do not see colours and for grey print.
_WORDS = {word["const"]: word for word in SCHEMA["$defs"]["Verdict"]["oneOf"]}
_UNKNOWN = _WORDS.pop("unknown")
STYLES = {
    name: VerdictStyle(name, word["x-letter"], word["title"], word["x-colour"], word["description"])
    for name, word in _WORDS.items()
}
ACCEPTED_STYLE = STYLES["accepted"]
UNDECIDED = frozenset(name for name, word in _WORDS.items() if word["x-undecided"])  # nobody's fault, never a zero


def style_of(verdict: str) -> VerdictStyle:
    """The style of a verdict; a word that this version does not know is shown as it is."""
    label = verdict.replace("_", " ")
    return STYLES.get(verdict) or VerdictStyle(
        "unknown", _UNKNOWN["x-letter"], label, _UNKNOWN["x-colour"], _UNKNOWN["description"]
    )


# A speed-up against its threshold.
THRESHOLD_COLOURS = {"pass": "#1c7ed6", "within_noise": "#9c7a00", "fail": "#d9480f", "": "#7c8590"}
THRESHOLD_LABELS = {
    "pass": "reached",
    "within_noise": "within noise",
    "fail": "missed",
    "not_measured": "not measured",
    "": "no threshold",
}
