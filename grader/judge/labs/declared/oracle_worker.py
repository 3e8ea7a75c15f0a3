"""Serves a declared lab's oracle and check script: requests on descriptor 3, arrays in memory shared with the judge.

    python oracle_worker.py LAB_FOLDER FUNCTION ORACLE.py [CHECK.py]

A request is one JSON message; {"op": "memory"} brings the descriptor of the memory along. An answer is one JSON
message, {"error": TEXT} where the lab's code failed: a mistake of its author's, told with the lines of the oracle that
led to it.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import keyword
import mmap
import os
import socket
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SOCKET = 3
LONGEST_MESSAGE = 1 << 16
LONGEST_TEXT = 4000


class LabError(Exception):
    """What the lab's author can mend."""


def load(path: Path) -> ModuleType:
    """The module in this file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        message = f"{path.name} cannot be loaded"
        raise LabError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_function(module: ModuleType, name: str, file: str) -> Any:  # noqa: ANN401
    """The function of this name, which the lab's author wrote."""
    function = getattr(module, name, None)
    if not callable(function):
        message = f"{file} defines no function {name}"
        raise LabError(message)
    return function


def chosen_arguments(function: Any, given: dict[str, Any], file: str) -> dict[str, Any]:  # noqa: ANN401
    """Those of `given` that the function asks for, by name; `in_` stands for `in`, which is a word of Python's own."""
    chosen = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            return given
        plain = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
        if plain in given:
            chosen[name] = given[plain]
        elif parameter.default is inspect.Parameter.empty:
            message = f"{file}: {function.__name__} asks for {name}; there is {', '.join(given)}"
            raise LabError(message)
    return chosen


class Worker:
    """The oracle, loaded once, and the memory of the case at hand."""

    def __init__(self, folder: Path, function: str, oracle: str, check: str) -> None:
        sys.path.insert(0, str(folder))
        self._oracle_file = oracle
        self._oracle = find_function(load(folder / oracle), function, oracle)
        self._check_file = check
        self._check = find_function(load(folder / check), "check", check) if check else None
        self._memory: mmap.mmap | None = None

    def map(self, descriptor: int, size: int) -> None:
        """Takes another piece of memory in place of the one before."""
        self._memory = mmap.mmap(descriptor, max(size, 1))
        os.close(descriptor)

    def _array(self, entry: dict[str, Any], *, writable: bool) -> np.ndarray:
        dtype = np.dtype(entry["dtype"])  # a structure's: {"names", "formats", "offsets", "itemsize"}
        shape = tuple(entry["shape"])
        array = np.ndarray(shape, dtype, self._memory, entry["at"])
        array.flags.writeable = writable
        return array

    def _readable(self, entry: dict[str, Any]) -> np.ndarray:
        array = self._array(entry, writable=False)
        return _wide(array) if entry.get("bf16") else array

    def _given(self, request: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = request["values"]
        return {entry["name"]: self._readable(entry) for entry in request["inputs"]} | values

    def truth(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls the oracle and writes what it returns; says what that took of all cores together."""
        begun = time.process_time()
        arguments = chosen_arguments(self._oracle, self._given(request), self._oracle_file)
        with np.errstate(all="ignore"):
            result = self._oracle(**arguments)
        outputs = request["outputs"]
        results = _by_name(result, outputs, self._oracle.__name__)
        for entry in outputs:
            _store(self._array(entry, writable=True), results.get(entry["name"]), entry["name"])
        return {"ok": True, "cpu_s": time.process_time() - begun}

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls the check script; its words where an output is wrong."""
        if self._check is None:
            message = "the lab has no check script"
            raise LabError(message)
        given = self._given(request)
        # What was worked on in place comes as it was, too.
        for entry in [*request["outputs"], *request["before"]]:
            given[entry.get("as", entry["name"])] = self._readable(entry)
        with np.errstate(all="ignore"):
            found = self._check(**chosen_arguments(self._check, given, self._check_file))
        if found is None or found is True:
            return {"ok": True, "wrong": None}
        return {"ok": True, "wrong": "the check script says no" if found is False else str(found)[:LONGEST_TEXT]}


def _wide(bits: np.ndarray) -> np.ndarray:
    """bf16, which NumPy does not know, as the float32 of the same value."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _by_name(result: Any, outputs: list[dict[str, Any]], function: str) -> dict[str, Any]:  # noqa: ANN401
    names = [entry["name"] for entry in outputs]
    if isinstance(result, dict):
        return result
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(names):
        message = f"{function} returned {len(results)} arrays; expected {len(names)}: {', '.join(names)}"
        raise LabError(message)
    return dict(zip(names, results, strict=True))


def _store(target: np.ndarray, result: Any, name: str) -> None:  # noqa: ANN401
    """Copies an array of the oracle's to where the judge reads it; nothing is lost on the way without a word."""
    if result is None:
        message = f"the oracle returned nothing for {name}"
        raise LabError(message)
    result = np.asarray(result)
    if result.shape != target.shape:
        if result.size != target.size:
            message = f"the oracle's {name} has the shape {list(result.shape)}; expected {list(target.shape)}"
            raise LabError(message)
        result = result.reshape(target.shape)
    if target.dtype.names != result.dtype.names:
        message = f"the oracle's {name} holds {result.dtype}; expected the fields {target.dtype.names}"
        raise LabError(message)
    if target.dtype.kind in "iu":
        if result.dtype.kind not in "iub":
            message = f"the oracle's {name} holds {result.dtype}; expected whole numbers of {target.dtype}"
            raise LabError(message)
        limits = np.iinfo(target.dtype)
        fits = np.can_cast(result.dtype, target.dtype, "safe")  # whatever the numbers are
        if not fits and result.size and (int(result.min()) < limits.min or int(result.max()) > limits.max):
            message = (
                f"the oracle's {name} holds {int(result.min())} to {int(result.max())}, and {target.dtype} holds"
                f" {limits.min} to {limits.max}: draw smaller inputs, or let the oracle wrap as the lab wants"
            )
            raise LabError(message)
    np.copyto(target, result, casting="unsafe")


def told(error: BaseException, folder: Path) -> str:
    """The error and the lines of the lab's own files that led to it."""
    if isinstance(error, LabError):
        return str(error)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(folder)]
    places = "".join(f"\n  {Path(f.filename).name}:{f.lineno}: {f.line}" for f in frames)
    return f"{type(error).__name__}: {error}{places}"[:LONGEST_TEXT]


def serve(worker: Worker, channel: socket.socket, folder: Path) -> None:
    """Answers until the judge hangs up."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, LONGEST_MESSAGE, 1)
        if not message:
            return
        request = json.loads(message)
        try:
            if request["op"] == "memory":
                worker.map(descriptors[0], request["bytes"])
                answer: dict[str, Any] = {"ok": True}
            else:
                answer = worker.truth(request) if request["op"] == "truth" else worker.check(request)
        except Exception as error:  # whatever the lab's code raises is told
            answer = {"error": told(error, folder)}
        channel.send(json.dumps(answer).encode())


def main() -> None:
    """The first message says whether the lab's files could be loaded."""
    folder, function, oracle = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    check = sys.argv[4] if len(sys.argv) > 4 else ""  # noqa: PLR2004
    channel = socket.socket(fileno=SOCKET)
    try:
        worker = Worker(folder, function, oracle, check)
    except BaseException as error:
        channel.send(json.dumps({"error": told(error, folder)}).encode())
        return
    channel.send(json.dumps({"ok": True}).encode())
    serve(worker, channel, folder)


if __name__ == "__main__":
    main()
