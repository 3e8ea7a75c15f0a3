"""Compares random transforms of the emulator's cuFFT with numpy's, which has an implementation of its own.

    cufft_against_numpy.py LIBRARIES COUNT SEED     (LIBRARIES: the folder with libcudart and libcufft)

numpy computes in extended precision, so the whole error is ours. Every array has random numbers between its elements
as well, which must stay. The first wrong case ends the comparison; its seed and number repeat it.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
TYPES = {"C2C": 0x29, "R2C": 0x2A, "C2R": 0x2C, "Z2Z": 0x69, "D2Z": 0x6A, "Z2D": 0x6C}
REAL, COMPLEX = {"f": np.float32, "d": np.float64}, {"f": np.complex64, "d": np.complex128}
DATA_TYPES = {"<f4": 0, "<f8": 1, "<c8": 4, "<c16": 5}  # library_types.h: CUDA_R_32F, R_64F, C_32F, C_64F
# Powers, products, primes that kissfft's own loops take (up to 61) and larger ones, products with them.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 30, 61, 64, 67, 97, 122, 134, 243, 257, 360, 1000, 1009, 1024, 2018, 4093, 10007]
# Units of the last place, for each step of log2(n). Single precision is computed in double and rounded once.
MOST_ERROR = {"f": 0.6, "d": 3.0}
SHORT = [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 31, 37, 67]


@dataclass
class Layout:
    """Where one array's elements are: the batch first, then the dimensions."""

    count: tuple[int, ...]
    embed: list[int]
    stride: int
    distance: int

    def places(self) -> Array:
        steps = [self.stride]
        for width in reversed(self.embed[1:]):
            steps.insert(0, steps[0] * width)
        at: Array = np.zeros(1, dtype=np.int64)
        for count, step in zip(self.count, [self.distance, *steps], strict=True):
            at = at[..., None] + np.arange(count) * step
        return np.asarray(at[0])


class Cuda:
    def __init__(self, folder: Path) -> None:
        def load(name: str) -> ctypes.CDLL:
            (path,) = folder.glob(f"lib{name}.so.*")
            return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)

        self.runtime = load("cudart")
        self.fft = load("cufft")

    def run(self, name: str, *arguments: Any) -> None:
        library = self.fft if name.startswith("cufft") else self.runtime
        code = library[name](*arguments)
        assert code == 0, f"{name} returned {code}"

    def send(self, array: Array) -> ctypes.c_void_p:
        at = ctypes.c_void_p()
        self.run("cudaMalloc", ctypes.byref(at), ctypes.c_size_t(array.nbytes))
        self.run("cudaMemcpy", at, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1)
        return at

    def receive(self, at: ctypes.c_void_p, like: Array) -> Array:
        array = np.empty_like(like)
        self.run("cudaMemcpy", ctypes.c_void_p(array.ctypes.data), at, ctypes.c_size_t(array.nbytes), 2)
        return array


@dataclass
class Case:
    precision: str
    kind: str  # forward, inverse, from_real, to_real
    size: tuple[int, ...]
    batch: int
    dense: bool
    in_place: bool
    way: str
    input: Layout
    output: Layout

    @property
    def type(self) -> str:
        single = {"from_real": "R2C", "to_real": "C2R"}.get(self.kind, "C2C")
        return single if self.precision == "f" else single.translate(str.maketrans("CR", "ZD"))


def random_case(random: np.random.Generator) -> Case:
    rank = int(random.choice([1, 1, 2, 3]))
    size = tuple(int(n) for n in random.choice(LENGTHS if rank == 1 else SHORT, rank))
    kind = str(random.choice(["forward", "inverse", "from_real", "to_real"]))
    batch = int(random.choice([1, 1, 2, 5]))
    dense = bool(random.integers(2))
    in_place = bool(random.integers(2)) and (dense or kind in ("forward", "inverse"))
    half = (*size[:-1], size[-1] // 2 + 1)
    counts = {"from_real": (size, half), "to_real": (half, size)}.get(kind, (size, size))
    real = (kind == "from_real", kind == "to_real")
    layouts = [dense_layout(batch, n, in_place and r, half) for n, r in zip(counts, real, strict=True)]
    if not dense:
        layouts = [random_layout(random, batch, n) for n in counts]
        if in_place:
            layouts[1] = layouts[0]
    ways = ["many", "many64", "xt"] + (["simple"] if dense and (rank == 1 or batch == 1) else [])
    precision = str(random.choice(["f", "d"]))
    return Case(precision, kind, size, batch, dense, in_place, str(random.choice(ways)), *layouts)


def dense_layout(batch: int, count: tuple[int, ...], padded: bool, half: tuple[int, ...]) -> Layout:
    embed = [*count[:-1], 2 * half[-1]] if padded else list(count)
    return Layout((batch, *count), embed, 1, int(np.prod(embed)))


def random_layout(random: np.random.Generator, batch: int, count: tuple[int, ...]) -> Layout:
    embed = [n + int(random.integers(3)) for n in count]
    if random.integers(3) == 0:  # the transforms lie between one another
        return Layout((batch, *count), embed, batch, 1)
    stride = int(random.integers(1, 4))
    return Layout((batch, *count), embed, stride, stride * int(np.prod(embed)) + int(random.integers(4)))


def numbers(random: np.random.Generator, precision: str, real: bool, count: int) -> Array:
    values = random.standard_normal(count)
    if real:
        return values.astype(REAL[precision])
    return (values + 1j * random.standard_normal(count)).astype(COMPLEX[precision])


def expected(case: Case, values: Array) -> Array:
    axes = tuple(range(1, len(case.size) + 1))
    points = int(np.prod(case.size))
    if case.kind == "from_real":
        return np.fft.rfftn(values.astype(np.longdouble), axes=axes)
    wide = values.astype(np.clongdouble)
    if case.kind == "to_real":
        return np.fft.irfftn(wide, s=case.size, axes=axes) * points
    return np.fft.fftn(wide, axes=axes) if case.kind == "forward" else np.fft.ifftn(wide, axes=axes) * points


def make_plan(cuda: Cuda, case: Case, input_type: int, output_type: int) -> ctypes.c_int:
    plan = ctypes.c_int()
    kind, rank = TYPES[case.type], len(case.size)
    if case.way == "simple":
        batches = [case.batch] if rank == 1 else []
        cuda.run(f"cufftPlan{rank}d", ctypes.byref(plan), *case.size, kind, *batches)
        return plan
    number = ctypes.c_int if case.way == "many" else ctypes.c_longlong

    def listed(values: list[int] | tuple[int, ...]) -> Any:
        return (number * rank)(*values)

    sides: list[list[Any]] = [
        [None, number(1), number(0)] if case.dense else [listed(s.embed), number(s.stride), number(s.distance)]
        for s in (case.input, case.output)
    ]
    size = ctypes.c_size_t()
    if case.way == "many":
        cuda.run("cufftPlanMany", ctypes.byref(plan), rank, listed(case.size), *sides[0], *sides[1], kind, case.batch)
        return plan
    cuda.run("cufftCreate", ctypes.byref(plan))
    batch = number(case.batch)
    if case.way == "many64":
        arguments = [*sides[0], *sides[1], kind, batch, ctypes.byref(size)]
        cuda.run("cufftMakePlanMany64", plan, rank, listed(case.size), *arguments)
    else:
        execution = DATA_TYPES[np.dtype(COMPLEX[case.precision]).str]
        arguments = [*sides[0], input_type, *sides[1], output_type, batch, ctypes.byref(size), execution]
        cuda.run("cufftXtMakePlanMany", plan, rank, listed(case.size), *arguments)
    return plan


def execute(cuda: Cuda, case: Case, plan: ctypes.c_int, source: ctypes.c_void_p, target: ctypes.c_void_p) -> None:
    direction = [1 if case.kind in ("inverse", "to_real") else -1]
    if case.way == "xt":
        cuda.run("cufftXtExec", plan, source, target, *direction)
    else:
        cuda.run(f"cufftExec{case.type}", plan, source, target, *([] if "real" in case.kind else direction))


def check(cuda: Cuda, case: Case, random: np.random.Generator) -> float:
    """The largest error, in units of the last place of the result's root mean square, by log2 of the size."""
    places = [side.places() for side in (case.input, case.output)]
    before = [
        numbers(random, case.precision, real, int(at.max()) + 1 + int(random.integers(4)))
        for real, at in zip((case.kind == "from_real", case.kind == "to_real"), places, strict=True)
    ]
    if case.in_place:  # one array, large enough for either
        bytes_needed = max(array.nbytes for array in before)
        before[0] = np.resize(before[0], -(-bytes_needed // before[0].itemsize))
        whole = before[0].nbytes // before[1].itemsize * before[1].itemsize
        before[1] = np.frombuffer(before[0].tobytes()[:whole], before[1].dtype)
    values = before[0][places[0]]
    want = expected(case, values)
    source = cuda.send(before[0])
    target = source if case.in_place else cuda.send(before[1])
    types = [DATA_TYPES[array.dtype.str] for array in before]
    plan = make_plan(cuda, case, types[0], types[1])
    execute(cuda, case, plan, source, target)
    after = cuda.receive(target, before[1])
    if not case.in_place:
        assert np.array_equal(cuda.receive(source, before[0]), before[0]), "the input has changed"
    between = np.ones(len(after), dtype=bool)
    between[places[1].ravel()] = False
    kept = np.array_equal(after[between], before[1][between], equal_nan=True)
    assert kept, "something between the elements has changed"
    cuda.run("cufftDestroy", plan)
    for at in {source.value: source, target.value: target}.values():
        cuda.run("cudaFree", at)
    got = after[places[1]]
    if case.kind in ("forward", "inverse"):  # Parseval
        energy = [float((np.abs(a.astype(np.clongdouble)) ** 2).sum()) for a in (values, got)]
        assert np.isclose(energy[0] * np.prod(case.size), energy[1], rtol=1e-5 if case.precision == "f" else 1e-13)
    scale = float(np.sqrt((np.abs(want) ** 2).mean())) or 1.0
    unit = 2.0 ** (-23 if case.precision == "f" else -52)
    return float(np.abs(got - want).max() / scale / unit / (1 + np.log2(np.prod(case.size))))


def main() -> None:
    cuda, count, seed = Cuda(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    worst = {"f": 0.0, "d": 0.0}
    for number in range(count):
        random = np.random.default_rng([seed, number])
        case = random_case(random)
        try:
            error = check(cuda, case, random)
            assert error <= MOST_ERROR[case.precision], f"an error of {error:.3g} units for each step of log2(n)"
        except AssertionError as wrong:
            sys.exit(f"seed {seed}, case {number}: {wrong}\n  {case}")
        worst[case.precision] = max(worst[case.precision], error)
    print(f"seed {seed}: {count} transforms are right; worst errors {worst['f']:.3f} and {worst['d']:.3f}")


if __name__ == "__main__":
    main()
