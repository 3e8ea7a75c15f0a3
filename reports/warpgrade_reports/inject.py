"""Faults on purpose, for tests: grader/base/inject.h describes the variable and what it asks for."""

from __future__ import annotations

import os
import signal


def inject(stage: str, submission: str) -> None:
    """Raises, or ends this process, where WARPGRADE_INJECT names this stage and this submission."""
    wish = dict(word.split(":", 1) for word in os.environ.get("WARPGRADE_INJECT", "").split(",") if ":" in word)
    if wish.get("stage") != stage or wish.get("submission", submission) != submission:
        return
    if wish.get("kind") == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    raise RuntimeError(f"injected at {stage}")
