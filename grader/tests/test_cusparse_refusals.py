"""What the emulator's cuSPARSE refuses, and how it says so; descriptors against NVIDIA's own library."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cusparse_calls import (
    EXECUTION_FAILED,
    INVALID,
    LIBRARIES,
    NOT_SUPPORTED,
    PLAIN,
    Array,
    Device,
    draw_sparse,
    seeded,
)

# It makes descriptors without a GPU.
NVIDIA = sorted((Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64").glob("libcusparse.so.12"))

pytestmark = pytest.mark.skipif(not list(LIBRARIES.glob("libcusparse.so.*")), reason="the emulator has no cuSPARSE")


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device()
    yield made
    made.close()


def multiply(device: Device, a_of: c.c_void_p, x: Array, y: Array, algorithm: int = 0) -> int:
    one = device.scalar(1, np.float32)
    return device.with_buffer(
        "cusparseSpMV", PLAIN, one, a_of, device.vector(x)[0], one, device.vector(y)[0], 0, algorithm
    )


def test_an_index_outside_of_the_matrix_is_named(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = np.ones(4, np.float32), np.ones(3, np.float32)
    values = device.send(np.ones(5, np.float32))
    offsets = device.send(np.array([0, 2, 2, 5], np.int32))

    def csr(columns: list[int], at: c.c_void_p = offsets) -> c.c_void_p:
        return device.create("Csr", 3, 4, 5, at, device.send(np.array(columns, np.int32)), values, 2, 2, 0, 0)

    assert multiply(device, csr([0, 1, 2, 4, 0]), x, y) == EXECUTION_FAILED
    assert "cusparseSpMV: entry 1 of row 2 (place 3) has column 4, expected 0 to 3" in capfd.readouterr().err
    assert multiply(device, csr([0, 1, -1, 3, 0]), x, y) == EXECUTION_FAILED
    assert "entry 0 of row 2 (place 2) has column -1" in capfd.readouterr().err
    bad_offsets = device.send(np.array([0, 4, 2, 5], np.int32))
    assert multiply(device, csr([0, 1, 2, 3, 0], bad_offsets), x, y) == EXECUTION_FAILED
    assert "the offset of row 2 has value 2, expected 4 to 5" in capfd.readouterr().err
    rows = device.send(np.array([1, 2, 3, 3, 4], np.int32))
    coo = device.create("Coo", 3, 4, 5, rows, rows, values, 2, 1, 0)
    assert multiply(device, coo, x, y) == EXECUTION_FAILED
    assert "entry 4 has row 4, expected 1 to 3" in capfd.readouterr().err


def test_an_array_that_is_too_small_is_named(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = np.ones(4, np.float32), np.ones(3, np.float32)
    offsets, columns = device.send(np.array([0, 2, 2, 5], np.int32)), device.send(np.zeros(5, np.int32))
    for pointer, why in ((device.allocate(16), "(20 bytes) could not be read"), (None, "null pointer")):
        a_of = device.create("Csr", 3, 4, 5, offsets, columns, pointer, 2, 2, 0, 0)
        status = multiply(device, a_of, x, y)
        assert status == (INVALID if pointer is None else EXECUTION_FAILED)
        assert why in capfd.readouterr().err


def test_what_does_not_fit_is_refused(device: Device) -> None:
    rng = seeded()
    a = draw_sparse(rng, (3, 4), np.float32, "Csr")
    a_of = device.matrix(a)
    right, wrong = np.ones(4, np.float32), np.ones(3, np.float32)
    assert multiply(device, a_of, right, wrong) == 0
    assert multiply(device, a_of, wrong, wrong) == INVALID
    assert multiply(device, a_of, right, right) == INVALID
    assert multiply(device, a_of, right, wrong, algorithm=1) == NOT_SUPPORTED  # COO's
    assert multiply(device, a_of, right.astype(np.float64), wrong) == NOT_SUPPORTED
    one, size = device.scalar(1, np.float32), c.c_size_t()
    x_of, y_of = device.vector(right)[0], device.vector(wrong)[0]
    for handle, alpha, matrix in ((None, one, a_of), (device.handle, None, a_of), (device.handle, one, None)):
        words = (handle, PLAIN, alpha, matrix, x_of, one, y_of, 0, 0, c.byref(size))
        assert device.call("cusparseSpMV_bufferSize", *words) == INVALID


def test_functions_that_are_left_out_say_so(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    made = c.c_void_p()
    assert device.call("cusparseCreateBsr", c.byref(made)) == NOT_SUPPORTED
    assert device.call("cusparseCreateSlicedEll", c.byref(made)) == NOT_SUPPORTED
    said = capfd.readouterr().err
    assert "emulator: unsupported call of cusparseCreateSlicedEll (cuSPARSE): it needs a GPU" in said


def both_say(ours: c.CDLL, nvidia: c.CDLL, name: str, *arguments: Any) -> tuple[c.c_void_p, c.c_void_p]:
    made, statuses = [], []
    for library in (ours, nvidia):
        descriptor = c.c_void_p()
        wide_arguments = [c.c_int64(a) if isinstance(a, int) else a for a in arguments]
        statuses.append(getattr(library, name)(c.byref(descriptor), *wide_arguments))
        made.append(descriptor)
    assert statuses[0] == statuses[1], (name, arguments, statuses)
    return made[0], made[1]


@pytest.mark.skipif(not NVIDIA, reason="the toolkit has no cuSPARSE")
def test_descriptors_accept_what_nvidias_library_accepts(device: Device) -> None:
    rng = seeded()
    nvidia = c.CDLL(str(NVIDIA[0]))
    assert nvidia._handle != device.sparse._handle
    sizes, pointers = [-1, 0, 1, 3, 5, 2**31 - 1, 2**31], [0, 2, 4, 8, 16, 64]

    def some(choices: list[int]) -> int:
        return int(rng.choice(choices))

    for _ in range(2000):
        index, base, kind = (
            some([2, 3, 2, 3, 1, 0, 4]),
            some([0, 1, 0, 1, 2]),
            some([0, 1, 2, 3, 4, 5, 6, 8, 10, 14, 15, 99]),
        )
        at = [c.c_void_p(some(pointers)) for _ in range(3)]
        rows, columns, nnz = some(sizes), some(sizes), some(sizes)
        name = str(rng.choice(["Csr", "Csc"]))
        both_say(
            device.sparse, nvidia, f"cusparseCreate{name}", rows, columns, nnz, *at, index, some([index, 2]), base, kind
        )
        both_say(device.sparse, nvidia, "cusparseCreateCoo", rows, columns, nnz, *at, index, base, kind)
        both_say(device.sparse, nvidia, "cusparseCreateSpVec", rows, nnz, *at[:2], index, base, kind)
        both_say(device.sparse, nvidia, "cusparseCreateDnVec", rows, at[0], kind)
        both_say(device.sparse, nvidia, "cusparseCreateDnMat", rows, columns, nnz, at[0], kind, some([0, 1, 2, 1, 2]))


@pytest.mark.skipif(not NVIDIA, reason="the toolkit has no cuSPARSE")
def test_setters_accept_what_nvidias_library_accepts(device: Device) -> None:
    rng = seeded()
    nvidia = c.CDLL(str(NVIDIA[0]))
    at = c.c_void_p(64)
    csr = both_say(device.sparse, nvidia, "cusparseCreateCsr", 3, 4, 5, at, at, at, 2, 2, 1, 0)
    coo = both_say(device.sparse, nvidia, "cusparseCreateCoo", 3, 4, 5, at, at, at, 2, 1, 0)
    dense = both_say(device.sparse, nvidia, "cusparseCreateDnMat", 3, 4, 5, at, 0, 1)
    for _ in range(300):
        numbers = [c.c_int64(int(n)) for n in rng.choice([-1, 0, 1, 2, 3, 4, 5, 19, 20, 21], 3)]
        pointers = [c.c_void_p(int(p)) for p in rng.choice([0, 2, 4, 8], 3)]
        calls: list[tuple[str, tuple[c.c_void_p, c.c_void_p], list[Any]]] = [
            ("cusparseCsrSetStridedBatch", csr, numbers),
            ("cusparseCsrSetStridedBatch", coo, numbers),
            ("cusparseCooSetStridedBatch", coo, numbers[:2]),
            ("cusparseDnMatSetStridedBatch", dense, numbers[:2]),
            ("cusparseCsrSetPointers", csr, pointers),
            ("cusparseCooSetPointers", coo, pointers),
            ("cusparseCscSetPointers", csr, pointers),
            ("cusparseSpMatSetValues", csr, pointers[:1]),
            ("cusparseDnMatSetValues", dense, pointers[:1]),
            ("cusparseSpMatSetAttribute", csr, [numbers[0], c.byref(c.c_int(1)), numbers[1]]),
        ]
        for name, pair, arguments in calls:
            said = [getattr(lib, name)(of, *arguments) for lib, of in zip((device.sparse, nvidia), pair, strict=True)]
            assert said[0] == said[1], (name, arguments, said)
    for code in range(-1, 14):
        for name in ("cusparseGetErrorName", "cusparseGetErrorString"):
            texts = []
            for library in (device.sparse, nvidia):
                function = library[name]
                function.restype = c.c_char_p
                texts.append(function(code))
            assert texts[0] == texts[1]
