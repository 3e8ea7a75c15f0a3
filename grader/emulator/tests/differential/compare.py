"""Compares a program's values with those recorded on a GPU: compare.py VALUES RECORDING.gz."""

from __future__ import annotations

import gzip
import math
import struct
import sys
from pathlib import Path

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
SHOWN = 3


def rows(text: str) -> dict[str, list[str]]:
    """A line is NAME COMPARE SOURCE_HASH OUTPUTS... [| INPUTS...]."""
    return {line.split(" ", 1)[0]: line.split() for line in text.splitlines() if not line.startswith("#")}


def number(word: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


def agrees(compare: str, want: str, got: str) -> bool:
    """`bits`, or f32:R:A for a difference of at most max(2^R |want|, 2^A), where NaN agrees with NaN."""
    if want == got or compare == "bits":
        return want == got
    _, relative, absolute = compare.split(":")
    x, y = number(int(want, 16)), number(int(got, 16))
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if math.isinf(x) or math.isinf(y):
        return x == y
    return abs(x - y) <= max(2 ** float(relative) * abs(x), 2 ** float(absolute))


def differences(want: list[str], got: list[str]) -> list[str]:
    """What is wrong with one kernel, a line each."""
    name, compare, source = want[:3]
    if got[2] != source:
        return [f"{name}: the kernel is not the one recorded; record again (record.sh)"]
    if got[3] == "unsupported":
        return [f"{name}: the emulator does not have this instruction"]
    split = got.index("|")
    outputs, inputs = got[3:split], got[split + 1 :]
    threads = len(outputs)
    wrong = [t for t in range(threads) if not agrees(compare, want[3 + t], outputs[t])]
    lines = []
    for t in wrong[:SHOWN]:
        operands = ", ".join(inputs[t::threads])
        lines.append(f"{name}: thread {t}, inputs {operands}: want {want[3 + t]}, got {outputs[t]} ({compare})")
    if len(wrong) > SHOWN:
        lines.append(f"{name}: {len(wrong)} of {threads} threads differ")
    return lines


def main() -> int:
    values, recording = Path(sys.argv[1]), Path(sys.argv[2])
    if not recording.exists():
        print(f"{recording} is missing: run record.sh on a machine with a GPU and add what it writes")
        return SKIPPED
    want, got = rows(gzip.decompress(recording.read_bytes()).decode()), rows(values.read_text())
    lines = [f"{name}: not recorded; record again (record.sh)" for name in got.keys() - want.keys()]
    lines += [f"{name}: recorded, but not run" for name in want.keys() - got.keys()]
    for name in want.keys() & got.keys():
        lines += differences(want[name], got[name])
    print("\n".join(sorted(lines)) if lines else f"{len(got)} kernels agree")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
