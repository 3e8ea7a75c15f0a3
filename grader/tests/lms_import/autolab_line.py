"""Autolab: https://docs.autolabproject.com/lab/ (Guide for Lab Authors): the autograder's last line of output."""

from __future__ import annotations

import json
from typing import Any

from .people import ImportRefusedError


def autolab(text: str, problems: set[str]) -> dict[str, float]:
    """The scores of the last line. Autolab takes what names one of the assessment's problems, and numbers alone."""
    result: dict[str, Any] = json.loads(text.rstrip("\n").split("\n")[-1])
    for problem, score in result["scores"].items():
        if problem not in problems or isinstance(score, bool) or not isinstance(score, int | float):
            raise ImportRefusedError(f"{problem}: {score!r}")
    if any(isinstance(value, str) for value in result.get("scoreboard", [])):
        raise ImportRefusedError("scoreboard: numbers are compared")
    return dict(result["scores"])
