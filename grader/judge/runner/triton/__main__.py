"""The host process of a submission in Python: no GPU, no driver, no socket to the judge.

It serves the executor's commands as judge/runner/host_main.cpp does for C++ (judge/executor/host_commands.h,
judge_commands.h). Nothing here is trusted: what it reports can only make a verdict worse.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from warpgrade._contract import Contract
from warpgrade._launch import Launcher, use_launcher
from warpgrade._runtime import Runtime
from warpgrade._tensor import use_memory

FOLDER = Path(__file__).resolve().parent
END, READY, ATTACH, DETACH, PLAN, RUN, FREE, REPORT_PLACES = range(8)  # HostCommand
MOST_PLACES = 5
NOT_SUPPORTED = 801  # cudaErrorNotSupported: not written yet
PR_SET_DUMPABLE = 4
MOST_TEXT = 4000


class Command(ctypes.Structure):
    """warpgrade_executor_command."""

    _fields_ = [  # noqa: RUF012
        ("number", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("arguments", ctypes.c_uint64 * 16),
    ]


def place_in_submission(error: BaseException) -> str:
    """Where in the student's files it happened: " (vector_add.py:31)"."""
    source = FOLDER / "submission"
    places = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(source)]
    if not places:
        return ""
    last = places[-1]
    return f" ({Path(last.filename).relative_to(source)}:{last.lineno})"


class Host:
    """The submission, and what is called of it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.contract = Contract(json.loads((FOLDER / "lab.json").read_text(encoding="utf-8")))
        self.addresses: dict[str, int] = {}
        self.given: dict[str, list[Any]] = {}  # to a function that is timed, as long as it would be the same
        self.parameters: dict[str, int | float] = {}
        self.plan: Any = None
        self.message = ""
        self.module: ModuleType | None = None
        self.failure: BaseException | None = None
        runtime.sources = f"{FOLDER / 'submission'}/"
        runtime.use_new_stream()
        use_memory(runtime)
        self.launcher = Launcher(runtime, FOLDER)
        use_launcher(self.launcher)
        self.load()

    def load(self) -> None:
        """Import the student's module; what goes wrong is told when it is called."""
        sys.path.insert(0, str(FOLDER / "submission" / self.contract.description["folder"]))
        try:
            self.module = importlib.import_module(self.contract.lab)
        except BaseException as error:  # SystemExit, too, is the submission's
            self.failure = error

    def serve(self, command: Command) -> int:
        """Do what is asked; the number that goes back (pack() of judge_commands.h)."""
        bits = list(command.arguments)
        if command.number != RUN:
            self.given.clear()
        if command.number == ATTACH:
            name = bytes(command)[8 + 16 : 8 + 16 + 32].split(b"\0")[0].decode()
            self.runtime.library.warpgrade_executor_lent(ctypes.c_uint64(bits[0]), ctypes.c_uint64(bits[1]))
            self.addresses[name] = bits[0]
        elif command.number == DETACH:
            for address in self.addresses.values():
                self.runtime.library.warpgrade_executor_lent(ctypes.c_uint64(address), ctypes.c_uint64(0))
            self.addresses.clear()
        elif command.number == REPORT_PLACES:
            self.runtime.library.warpgrade_executor_report_places(command.arguments, ctypes.c_size_t(MOST_PLACES))
        elif command.number in (PLAN, RUN, FREE):
            return self.call({PLAN: self.make_plan, RUN: self.run, FREE: self.free}[command.number], bits)
        return 0

    def call(self, function: Callable[[list[int]], object], bits: list[int]) -> int:
        """Whatever the submission's code raises is its own fault."""
        threw, returned = 0, 0
        try:
            if self.failure is not None:
                raise self.failure
            answer = function(bits)
            returned = answer if isinstance(answer, int) and not isinstance(answer, bool) else 0
        except NotImplementedError:
            returned = NOT_SUPPORTED
        except BaseException as error:
            threw = 1
            self.message = f"{type(error).__name__}: {error}{place_in_submission(error)}"
        left = int(self.runtime.last_error())
        return threw | (returned & 0xFFFF) << 8 | (left & 0xFFFF) << 24

    def make_plan(self, bits: list[int]) -> object:
        """Call plan(), where there is one."""
        self.parameters = self.contract.parameters(bits)
        self.plan = None
        make = getattr(self.module, "plan", None)
        if make is not None:
            self.launcher.is_tuning = True
            try:
                self.plan = make(*self.arguments("plan", self.parameters))
            finally:
                self.launcher.is_tuning = False
        return None

    def run(self, bits: list[int]) -> object:
        """Have the submission compute."""
        name = self.contract.run_of(bits[0])
        function = getattr(self.module, name, None)
        if function is None:
            raise AttributeError(f"{self.contract.lab}.py defines no function {name}")
        if name not in self.given or self.contract.description["scalars"]:
            self.given[name] = self.arguments(name, self.parameters | self.contract.scalars(bits))
        return function(*self.given[name])

    def free(self, _bits: list[int]) -> object:
        """Release the plan, where there is a function for it."""
        plan, self.plan = self.plan, None
        release = getattr(self.module, "free", None)
        if release is not None:
            release(plan)
        return None

    def arguments(self, call: str, values: dict[str, int | float]) -> list[Any]:
        """The judge's arrays and numbers, in the contract's order."""
        return self.contract.arguments(call, values, self.addresses.__getitem__, self.plan, self.runtime.stream)


def runtime_library() -> str:
    """The judge's CUDA runtime, the only library in its folder."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        for library in sorted(Path(folder).glob("libcudart.so.*")):
            return str(library)
    raise RuntimeError("there is no libcudart.so.* in LD_LIBRARY_PATH")


def main() -> int:
    """Serve until the executor ends."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    runtime = Runtime(runtime_library())
    library = runtime.library
    host = Host(runtime)
    command = Command()
    while library.warpgrade_executor_next_command(ctypes.byref(command)) == 0:
        host.message = ""
        result = host.serve(command)
        text = host.message[:MOST_TEXT].encode(errors="replace")
        library.warpgrade_executor_done(ctypes.c_int64(result), ctypes.c_char_p(text))
        if command.number == END:
            break
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
