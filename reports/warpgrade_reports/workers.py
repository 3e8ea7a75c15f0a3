"""The same work on many things, by as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_MOST = 4  # each has its share of the memory
_RARELY = 50_000  # objects between collections: pages make few cycles, and to look for them took a tenth of the time
_work: Callable[[int], Any]  # what the processes were started for; they are copies of this one


def processes_for(count: int) -> int:
    """How many processes so many pieces of work are worth."""
    return max(1, min(len(os.sched_getaffinity(0)), count, _MOST))


def in_processes(work: Callable[[int], T], count: int, *, apart: bool) -> list[T]:
    """`work(0)` to `work(count - 1)`, in order. If not `apart`, or on one core, this process does it."""
    global _work  # noqa: PLW0603 - a copied process finds it here, and nothing of a large run is sent to it
    processes = processes_for(count)
    if not apart or processes < 2:  # noqa: PLR2004
        return [work(place) for place in range(count)]
    _work = work
    gc.freeze()  # else the first collection writes to all pages, and each process has a copy of its own
    try:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _begin) as pool:
            return list(pool.map(_one, range(count)))
    finally:
        gc.unfreeze()


def _begin() -> None:
    gc.set_threshold(_RARELY)


def _one(place: int) -> Any:  # noqa: ANN401
    return _work(place)
