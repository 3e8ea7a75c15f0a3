"""What the labs reduction and matmul allow: honest fp32 in any order has room, a skipped part or fewer bits has none.

NVIDIA's sample `reduction` (cuda-samples, reduction.cpp) keeps its numbers small "so we don't get truncation error in
the sum"; the timed cases of lab reduction do the same and are exact. Draws and bounds are read from lab.yaml; NumPy
emulates the programs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

REFERENCE = Path(__file__).resolve().parents[2] / "reference"
UNIT = 2.0**-24
SKIPPED = 1024  # one part of so many
THREADS = 65536  # of naive, each of which adds up every 65,536th number

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def declared(lab: str) -> dict[str, Any]:
    """The lab's declaration, with a case for each number of a list."""
    read: dict[str, Any] = yaml.safe_load((REFERENCE / lab / "lab.yaml").read_text(encoding="utf-8"))
    cases = []
    for case in read["cases"]:
        key = next((key for key in read["parameters"] if isinstance(case[key], list)), None)
        cases += [case] if key is None else [case | {"id": f"{case['id']}-{n}", key: n} for n in case[key]]
    return read | {"cases": cases}


def oracle_of(lab: str) -> ModuleType:
    """The lab's oracle.py."""
    spec = importlib.util.spec_from_file_location(f"{lab}_oracle", REFERENCE / lab / "oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(draw: dict[str, Any], shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """As the judge draws; thin rows as draw.cpp makes them."""
    if "integers" in draw:
        low, high = draw["integers"]
        return random.integers(low, high, shape, dtype=np.int32, endpoint=True).astype(np.float32)
    low, high = draw["uniform"]
    cells = random.uniform(low, high, shape).astype(np.float32)
    if "thin_rows" in draw:
        thin_out(cells, draw["thin_rows"], random)
    return cells


def thin_out(cells: Floats, per: int, random: np.random.Generator) -> None:
    """One row of `per` keeps a cell, or every other time a share of its cells."""
    rows, row = cells.shape
    for group in range(rows // per):
        share = 0.0 if group % 2 == 0 else 2.0 ** -random.integers(1, row.bit_length(), endpoint=True)
        kept = np.asarray(random.random(row) < share)
        kept[random.integers(row)] = True
        cells[group * per + random.integers(per), ~kept] = 0


# ---- reduction ----


def in_order(parts: Floats) -> float:
    """One number after the other, each sum rounded: what atomics on one cell do."""
    return float(np.add.accumulate(parts)[-1])


def tree(x: Floats, numbers: int) -> Floats:
    """The sums of so many numbers each, halved again and again."""
    full = np.zeros(-len(x) % numbers + len(x), np.float32)
    full[: len(x)] = x
    parts = full.reshape(-1, numbers)
    while parts.shape[1] > 1:
        half = parts.shape[1] // 2
        parts = parts[:, :half] + parts[:, half:]
    return parts[:, 0]


def strided(x: Floats) -> Floats:
    """Each thread's running sum of every 65,536th number."""
    full = np.zeros(-len(x) % THREADS + len(x), np.float32)
    full[: len(x)] = x
    sums = np.zeros(THREADS, np.float32)
    for row in full.reshape(-1, THREADS):
        sums += row
    return sums


def honest_sums(x: Floats, random: np.random.Generator) -> dict[str, float]:
    """Sums of x, in the orders that programs have; blocks give theirs away in any order."""
    return {
        "one number after the other": in_order(x),
        "backwards": in_order(x[::-1]),
        "an atomic a warp": in_order(random.permutation(tree(x, 32))),
        "an atomic a block": in_order(random.permutation(tree(x, 256))),
        "a thread's running sum, an atomic each": in_order(random.permutation(strided(x))),
        "a thread's running sum, then a tree": float(tree(strided(x), THREADS)[0]),
        "NumPy's order": float(x.sum(dtype=np.float32)),
    }


def guessed_sums(x: Floats, random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Sums without one part, in fp64: nothing for it, or what the rest suggests."""
    for parts in (8, 64, SKIPPED):
        step = len(x) // parts
        first = int(random.integers(parts)) * step
        places = {"the first": slice(0, step), "the last": slice(len(x) - step, None)}
        places |= {"some": slice(first, first + step), "every so many": slice(first % parts, None, parts)}
        for name, place in places.items():
            rest = float(x.sum(dtype=np.float64) - x[place].sum(dtype=np.float64))
            yield f"without {name} of {parts} parts, nothing for it", rest
            yield f"without {name} of {parts} parts, the rest's mean for it", rest * parts / (parts - 1)


REDUCTION = declared("reduction")
MANY = [case for case in REDUCTION["cases"] if case.get("kind") == "speed" or case["id"] == "whole-numbers"]


def draw_of(case: dict[str, Any]) -> dict[str, Any]:
    """How the case draws x."""
    draw: dict[str, Any] = case.get("draw", {}).get("x") or REDUCTION["arrays"]["x"]["draw"]
    return draw


def bound_of(x: Floats) -> tuple[float, float]:
    """The right sum, and the error that is allowed."""
    exact, _, magnitude = oracle_of("reduction").reduction(x, np.zeros(1, np.int32))
    return float(exact[0]), float(REDUCTION["check"]["sum"]["bound"] * UNIT * magnitude[0])


@pytest.mark.parametrize("case", REDUCTION["cases"], ids=lambda case: case["id"])
def test_honest_sums_of_any_order_stay_below_a_quarter_of_the_bound(case: dict[str, Any]) -> None:
    """Naive, the ladder, and one accumulator for all."""
    repetitions = 2 if case["n"] > 1 << 20 else 10 if case["n"] > 1 << 17 else 50
    worst: dict[str, float] = {}
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        x = drawn(draw_of(case), (case["n"],), random)
        exact, allowed = bound_of(x)
        for order, found in honest_sums(x, random).items():
            worst[order] = max(worst.get(order, 0), abs(found - exact) / allowed)
    print(f"seeds 0 to {repetitions - 1}:", {order: round(share, 4) for order, share in worst.items()})
    assert max(worst.values()) < 1 / 4


@pytest.mark.parametrize("case", MANY, ids=lambda case: case["id"])
def test_a_sum_without_a_part_of_1024_misses_the_bound_by_four_times(case: dict[str, Any]) -> None:
    """Whatever is guessed for the part: an eighth of 64 million once passed."""
    least = (np.inf, "")
    repetitions = 2 if case["n"] > 1 << 20 else 20
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        x = drawn(draw_of(case), (case["n"],), random)
        exact, allowed = bound_of(x)
        for name, found in guessed_sums(x, random):
            least = min(least, (abs(found - exact) / allowed, f"{name}, seed {seed}"))
    print(f"nearest to the bound: {least[0]:.0f} of it, {least[1]}")
    assert least[0] >= 4, least[1]


def test_numbers_rounded_to_16_bits_miss_the_bound_of_whole_numbers_by_four_times() -> None:
    """Of the cases whose numbers have more digits than fp16; 64 million leave room for 500 alone."""
    wide = [case for case in MANY if draw_of(case)["integers"][1] > 1 << 11]
    assert [case["id"] for case in wide] == ["whole-numbers", "many-1M"]
    for case in wide:
        for seed in range(5):
            x = drawn(draw_of(case), (case["n"],), np.random.default_rng(seed))
            exact, allowed = bound_of(x)
            error = abs(float(x.astype(np.float16).sum(dtype=np.float64)) - exact)
            assert error >= 4 * allowed, (case["id"], seed, error)


# ---- matmul ----


def kept_bits(x: Floats, bits: int, nearest: bool = True) -> Floats:
    """X with so many bits of its significand: 8 are BF16's, 11 are TF32's."""
    dropped = 24 - bits
    words = x.view(np.uint32).astype(np.uint64)
    if nearest:
        words += (1 << (dropped - 1)) - 1 + ((words >> np.uint64(dropped)) & np.uint64(1))
    return (words >> dropped << dropped).astype(np.uint32).view(np.float32)


def product(a: Floats, b: Floats) -> Doubles:
    """In fp64: what is measured are the factors, and tensor cores add up no better than this."""
    exact: Doubles = a.astype(np.float64) @ b.astype(np.float64)
    return exact


def bf16_pieces(a: Floats, b: Floats, products: int) -> Floats:
    """Each factor as two numbers of 8 bits; the products of most weight."""
    a1, b1 = kept_bits(a, 8), kept_bits(b, 8)
    a2, b2 = kept_bits(a - a1, 8), kept_bits(b - b1, 8)
    terms = [(a1, b1), (a1, b2), (a2, b1)][:products]
    return sum(product(*term) for term in terms).astype(np.float32)  # type: ignore[union-attr]


WRONG: dict[str, Callable[[Floats, Floats], Floats]] = {
    "TF32 to nearest": lambda a, b: product(kept_bits(a, 11), kept_bits(b, 11)).astype(np.float32),
    "TF32 cut off": lambda a, b: product(kept_bits(a, 11, False), kept_bits(b, 11, False)).astype(np.float32),
    "BF16": lambda a, b: bf16_pieces(a, b, 1),
    "BF16 pieces, two products": lambda a, b: bf16_pieces(a, b, 2),
    "BF16 pieces, three products": lambda a, b: bf16_pieces(a, b, 3),
}


def one_accumulator(a: Floats, b: Floats, fused: bool) -> Floats:
    """A cell's products one after the other, with or without FMA."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i in range(a.shape[1]):
        if fused:
            sums = (sums + np.multiply.outer(a[:, i].astype(np.float64), b[i].astype(np.float64))).astype(np.float32)
        else:
            sums += np.multiply.outer(a[:, i], b[i])
    return sums


def split_k(a: Floats, b: Floats, parts: int) -> Floats:
    """So many accumulators of neighbouring terms, added up at the end."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for own_a, own_b in zip(np.array_split(a, parts, axis=1), np.array_split(b, parts, axis=0), strict=True):
        sums += one_accumulator(own_a, own_b, fused=True)
    return sums


HONEST: dict[str, Callable[[Floats, Floats], Floats]] = {
    "FMAs in order": lambda a, b: one_accumulator(a, b, fused=True),
    "products and sums": lambda a, b: one_accumulator(a, b, fused=False),
    "backwards": lambda a, b: one_accumulator(a[:, ::-1], b[::-1], fused=True),
    "split-k of 4": lambda a, b: split_k(a, b, 4),
    "blocks of BLAS": lambda a, b: a @ b,
}
MATMUL = declared("matmul")
TENSOR_CASES = [
    case for case in MATMUL["cases"] if case["m"] % 128 == 0 and case["n"] % 128 == 0 and case["k"] % 32 == 0
]
MOST_SIDE = 512  # of a product that is emulated: rows and columns are alike, terms are not left out


def most_over_bound(a: Floats, b: Floats, found: Floats) -> float:
    """The largest error over what is allowed."""
    want, magnitude = oracle_of("matmul").matmul(a, b)
    allowed = MATMUL["check"]["bound"] * UNIT * np.where(magnitude > 0, magnitude, 1)
    return float((np.abs(found - want) / allowed).max())


def rms_over_limit(a: Floats, b: Floats, found: Floats) -> float:
    """The root mean square of all errors over what is allowed where cells are many (comparison.cpp)."""
    want, magnitude = oracle_of("matmul").matmul(a, b)
    errors = (found - want) / (UNIT * np.where(magnitude > 0, magnitude, 1))
    return float(np.sqrt(np.mean(errors**2)) / MATMUL["check"]["rms"])


def factors(case: dict[str, Any], random: np.random.Generator, most: int) -> tuple[Floats, Floats]:
    """A and B of the case, with fewer rows and columns where they are many."""
    a = drawn(MATMUL["arrays"]["a"]["draw"], (min(case["m"], most), case["k"]), random)
    return a, drawn(MATMUL["arrays"]["b"]["draw"], (case["k"], min(case["n"], most)), random)


def test_a_case_of_each_size_has_the_shape_that_tensor_cores_want() -> None:
    """Four that the emulator judges, and both squares."""
    judged = ["whole-tiles", "long-tiles", "tall-tiles", "wide-tiles"]
    assert [case["id"] for case in TENSOR_CASES] == [*judged, "square-1024", "square-4096"]


@pytest.mark.parametrize("way", WRONG)
@pytest.mark.parametrize("case", TENSOR_CASES, ids=lambda case: case["id"])
def test_products_of_fewer_bits_miss_the_bound_by_twice(case: dict[str, Any], way: str) -> None:
    """In every run: in long sums the errors of products cancel, in thin rows they do not."""
    found = []
    for seed in range(20 if case["k"] < 1000 else 3):
        a, b = factors(case, np.random.default_rng(seed), MOST_SIDE)
        found.append(most_over_bound(a, b, WRONG[way](a, b)))
    print(f"{way}: {min(found):.1f} to {max(found):.1f} of the bound, seeds 0 to {len(found) - 1}")
    assert min(found) >= 2


@pytest.mark.parametrize("way", HONEST)
@pytest.mark.parametrize("case", TENSOR_CASES, ids=lambda case: case["id"])
def test_honest_products_stay_below_half_of_the_bound(case: dict[str, Any], way: str) -> None:
    """In any order, in one accumulator or several."""
    found = []
    for seed in range(20 if case["k"] < 1000 else 2):
        a, b = factors(case, np.random.default_rng(seed), 256)
        found.append(most_over_bound(a, b, HONEST[way](a, b)))
    print(f"{way}: {max(found):.3f} of the bound at most, seeds 0 to {len(found) - 1}")
    assert max(found) < 1 / 2


@pytest.mark.parametrize("case", TENSOR_CASES, ids=lambda case: case["id"])
def test_fewer_bits_in_the_rows_that_are_not_thin_exceed_the_limit_of_all_errors(case: dict[str, Any]) -> None:
    """A program may look for thin rows and compute them in fp32."""
    found = []
    for seed in range(5 if case["k"] < 1000 else 2):
        a, b = factors(case, np.random.default_rng(seed), MOST_SIDE)
        product_of_both = WRONG["BF16 pieces, three products"](a, b)
        thin = (a != 0).sum(axis=1) < 0.9 * a.shape[1]
        product_of_both[thin] = (a[thin] @ b).astype(np.float32)
        found.append(rms_over_limit(a, b, product_of_both))
    print(f"{min(found):.2f} to {max(found):.2f} of the limit, seeds 0 to {len(found) - 1}")
    assert min(found) >= 1.2


@pytest.mark.parametrize("way", HONEST)
@pytest.mark.parametrize(
    "case", [case for case in MATMUL["cases"] if case["m"] * case["n"] >= 1 << 14], ids=lambda case: case["id"]
)
def test_errors_of_honest_products_stay_below_half_of_their_limit(case: dict[str, Any], way: str) -> None:
    """In short sums products round as much as sums do."""
    a, b = factors(case, np.random.default_rng(case["k"]), 256)
    share = rms_over_limit(a, b, HONEST[way](a, b))
    print(f"{share:.3f} of the limit, seed {case['k']}")
    assert share < 1 / 2
