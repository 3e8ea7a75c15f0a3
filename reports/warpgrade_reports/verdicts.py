"""How each verdict looks and reads: one letter, one colour, one sentence, the same in page, plots and tables."""

from __future__ import annotations

from dataclasses import dataclass


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
_STYLES = (
    VerdictStyle("accepted", "✓", "accepted", "#2b8a5a", "every repetition was correct"),
    VerdictStyle("wrong_answer", "W", "wrong answer", "#c92a2a", "a result differs from the oracle's"),
    VerdictStyle("runtime_error", "R", "runtime error", "#d9480f", "a crash, a CUDA error or an illegal access"),
    VerdictStyle("time_limit", "T", "time limit", "#b8660b", "did not end in time"),
    VerdictStyle("memory_limit", "M", "memory limit", "#94611f", "asked for more memory than allowed"),
    VerdictStyle("compile_error", "C", "compile error", "#8f3f97", "was not compiled, so no case could run"),
    VerdictStyle("timing_rejected", "X", "timing rejected", "#a61e4d", "correct, but its time cannot be believed"),
    VerdictStyle("cheating", "!", "cheating", "#1b1b1f", "broke a rule of the course"),
    VerdictStyle("not_implemented", "N", "not implemented", "#7d7400", "the stub says that it is not written yet"),
    VerdictStyle("judge_fault", "J", "judge fault", "#1c6fb8", "the judge failed: the submission loses no points"),
    VerdictStyle("refused", "–", "refused", "#8f3f97", "the hand-in could not be taken, so nothing was judged"),
    VerdictStyle("not_submitted", "0", "not handed in", "#6b7280", "nothing was handed in"),
    VerdictStyle("not_run", "·", "not run", "#6b7280", "not judged: the submission loses no points"),
)
STYLES = {style.name: style for style in _STYLES}
ACCEPTED_STYLE = STYLES["accepted"]


def style_of(verdict: str) -> VerdictStyle:
    """The style of a verdict; a word that this version does not know is shown as it is."""
    return STYLES.get(verdict) or VerdictStyle("unknown", "?", verdict.replace("_", " "), "#6b7280", "unknown verdict")


# A speed-up against its threshold.
THRESHOLD_COLOURS = {"pass": "#1c7ed6", "within_noise": "#9c7a00", "fail": "#d9480f", "": "#7c8590"}
THRESHOLD_LABELS = {
    "pass": "reached",
    "within_noise": "within noise",
    "fail": "missed",
    "not_measured": "not measured",
    "": "no threshold",
}
