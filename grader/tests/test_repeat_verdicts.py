"""What is said of a submission does not depend on the number of workers, nor on which of them was first."""

from __future__ import annotations

import pytest
from corpus import BACKEND
from repeat_verdicts import FIXTURES, differences


@pytest.mark.skipif(BACKEND != "emulator", reason="a GPU's order of threads is its own")
@pytest.mark.parametrize("lab", FIXTURES)
def test_verdict_reason_and_first_message_are_the_same_on_any_number_of_workers(lab: str) -> None:
    """Once each; `repeat_verdicts.py` repeats it."""
    assert not differences(lab, repetitions=1, workers=[1, 2, 4])
