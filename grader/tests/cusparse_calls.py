"""Calls of cuSPARSE by its C interface: the emulator's library over the emulator's runtime, in this process.

CUSPARSE_LIBRARIES names another folder with both libraries: a toolkit's, on a machine with a GPU.
"""

from __future__ import annotations

import ctypes as c
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from conftest import ROOT
from scipy.sparse import coo_array

LIBRARIES = Path(os.environ.get("CUSPARSE_LIBRARIES", ROOT / os.environ.get("BUILD", "build") / "emulator"))
Array = np.ndarray[Any, Any]

# library_types.h; bfloat16 has no type in NumPy: its bits are 16-bit numbers here.
BFLOAT = np.dtype(np.uint16)
TYPES = {"f4": 0, "f8": 1, "f2": 2, "i1": 3, "c8": 4, "c16": 5, "i4": 10, "u2": 14}
INDEX_TYPES = {"i4": 2, "i8": 3}
PLAIN, TRANSPOSE, CONJUGATE = range(3)
COLUMN_ORDER, ROW_ORDER = 1, 2
INVALID, EXECUTION_FAILED, NOT_SUPPORTED = 3, 6, 10


def type_code(dtype: Any) -> int:
    return TYPES[np.dtype(dtype).str[1:]]


def to_bfloat(values: Array) -> Array:
    """Rounded to nearest even; the values are finite."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def wide(values: Array) -> Array:
    """As numbers that NumPy multiplies without a loss that matters."""
    if values.dtype == BFLOAT:
        values = from_bfloat(values)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


# Values of A and B, of C, and the compute type: the rows of the documentation's tables.
KINDS: list[tuple[Any, Any, Any]] = [
    *((kind, kind, kind) for kind in (np.float32, np.float64, np.complex64, np.complex128)),
    (np.int8, np.int32, np.int32),
    (np.int8, np.float32, np.float32),
    (np.float16, np.float16, np.float32),
    (np.float16, np.float32, np.float32),
    (BFLOAT, BFLOAT, np.float32),
    (BFLOAT, np.float32, np.float32),
]
UNIFORM = KINDS[:4]
# Of a result: the rounding of its type, and for sums on a GPU in fp32 some of those.
TOLERANCES = {"f2": 2e-3, "u2": 1.6e-2, "f4": 1e-5, "c8": 1e-5, "f8": 1e-12, "c16": 1e-12, "i4": 0.0}


def seeded(turn: int = 0) -> np.random.Generator:
    """WARPEMU_FUZZ_SEED repeats a seed that a failure printed."""
    seed = int(os.environ.get("WARPEMU_FUZZ_SEED", time.time_ns() % 2**31 + turn))
    print(f"WARPEMU_FUZZ_SEED={seed}")
    return np.random.default_rng(seed)


class Device:
    """Device memory, descriptors and calls; all of it goes back at the end."""

    def __init__(self) -> None:
        (runtime,) = LIBRARIES.glob("libcudart.so.1[0-9]")
        (sparse,) = LIBRARIES.glob("libcusparse.so.1[0-9]")
        self.runtime = c.CDLL(str(runtime), mode=c.RTLD_GLOBAL)
        self.sparse = c.CDLL(str(sparse))
        self.sparse.cusparseGetErrorName.restype = c.c_char_p
        self.pointers: list[c.c_void_p] = []
        self.handle = c.c_void_p()
        assert self.sparse.cusparseCreate(c.byref(self.handle)) == 0

    def close(self) -> None:
        self.clear()
        assert self.sparse.cusparseDestroy(self.handle) == 0

    def clear(self) -> None:
        for pointer in self.pointers:
            self.runtime.cudaFree(pointer)
        self.pointers = []

    def allocate(self, count: int) -> c.c_void_p:
        pointer = c.c_void_p()
        if count > 0:
            assert self.runtime.cudaMalloc(c.byref(pointer), c.c_size_t(count)) == 0
            self.pointers.append(pointer)
        return pointer

    def send(self, array: Array) -> c.c_void_p:
        """A copy on the device, of exactly its size."""
        array = np.ascontiguousarray(array)
        pointer = self.allocate(array.nbytes)
        if array.nbytes:
            size = c.c_size_t(array.nbytes)
            assert self.runtime.cudaMemcpy(pointer, c.c_void_p(array.ctypes.data), size, 1) == 0
        return pointer

    def receive(self, pointer: c.c_void_p, like: Array) -> Array:
        array = np.zeros_like(like, order="C")
        if array.nbytes:
            size = c.c_size_t(array.nbytes)
            assert self.runtime.cudaMemcpy(c.c_void_p(array.ctypes.data), pointer, size, 2) == 0
        return array

    def call(self, name: str, *arguments: Any) -> int:
        """Of whole numbers all are 64 bits wide: a callee takes the low half of a register or a place on the stack."""
        wide_arguments = [c.c_int64(a) if isinstance(a, int) else a for a in arguments]
        return int(getattr(self.sparse, name)(*wide_arguments))

    def must(self, name: str, *arguments: Any) -> None:
        status = self.call(name, *arguments)
        assert status == 0, f"{name}: {self.sparse.cusparseGetErrorName(status).decode()}"

    def create(self, name: str, *arguments: Any) -> c.c_void_p:
        descriptor = c.c_void_p()
        self.must("cusparseCreate" + name, c.byref(descriptor), *arguments)
        return descriptor

    def with_buffer(self, name: str, *arguments: Any, preprocess: bool = False) -> int:
        """Asks for the buffer's size, allocates it and calls."""
        size = c.c_size_t()
        status = self.call(name + "_bufferSize", self.handle, *arguments, c.byref(size))
        if status != 0:
            return status
        buffer = self.allocate(max(size.value, 1))
        if preprocess:
            self.must(name + "_preprocess", self.handle, *arguments, buffer)
        return self.call(name, self.handle, *arguments, buffer)

    def matrix(self, a: Sparse) -> c.c_void_p:
        base, value_type = a.base, type_code(a.values.dtype)
        index_type = INDEX_TYPES[a.index.str[1:]]
        offsets, inner = (self.send(part) for part in a.arrays())
        values = self.send(a.values)
        if a.format == "Coo":
            return self.create("Coo", *a.shape, a.nnz, offsets, inner, values, index_type, base, value_type)
        return self.create(a.format, *a.shape, a.nnz, offsets, inner, values, index_type, index_type, base, value_type)

    def vector(self, values: Array) -> tuple[c.c_void_p, c.c_void_p]:
        pointer = self.send(values)
        return self.create("DnVec", values.size, pointer, type_code(values.dtype)), pointer

    def dense(self, laid_out: LaidOut) -> tuple[c.c_void_p, c.c_void_p]:
        pointer = self.send(laid_out.memory)
        descriptor = self.create(
            "DnMat", *laid_out.shape, laid_out.ld, pointer, type_code(laid_out.memory.dtype), laid_out.order
        )
        return descriptor, pointer

    def scalar(self, value: complex, compute: Any) -> c.c_void_p:
        """Of the compute type, on the host; it lives as long as this object."""
        array = np.array([value if np.dtype(compute).kind == "c" else complex(value).real]).astype(compute)
        self._kept = [*getattr(self, "_kept", [])[-64:], array]
        return c.c_void_p(array.ctypes.data)


class Sparse:
    """Random entries in one of the formats: rows without entries, unsorted columns, in COO entries twice."""

    def __init__(
        self, rng: np.random.Generator, name: str, shape: tuple[int, int], values: Array, base: int, index: Any
    ):
        self.format, self.shape, self.values, self.base = name, shape, values, base
        self.index = np.dtype(index)
        self.nnz = values.size
        rows, columns = shape
        if name == "Coo":
            self.rows, self.columns = rng.integers(0, rows, self.nnz), rng.integers(0, columns, self.nnz)
        else:
            places = rng.permutation(rng.choice(rows * columns, self.nnz, replace=False))
            self.rows, self.columns = places // max(columns, 1), places % max(columns, 1)
            order = np.argsort(self.rows if name == "Csr" else self.columns, kind="stable")
            self.rows, self.columns = self.rows[order], self.columns[order]

    def arrays(self) -> tuple[Array, Array]:
        if self.format == "Coo":
            return (self.rows + self.base).astype(self.index), (self.columns + self.base).astype(self.index)
        line, inner = (self.rows, self.columns) if self.format == "Csr" else (self.columns, self.rows)
        lines = self.shape[0 if self.format == "Csr" else 1]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=lines))]).astype(np.int64)
        return (offsets + self.base).astype(self.index), (inner + self.base).astype(self.index)

    def dense(self) -> Array:
        return np.asarray(coo_array((wide(self.values), (self.rows, self.columns)), shape=self.shape).toarray())


class LaidOut:
    """A matrix in memory with a leading dimension; what lies between the lines must stay."""

    def __init__(self, matrix: Array, order: int, extra: int = 0):
        self.order, self.shape = int(order), matrix.shape
        lines = matrix if order == ROW_ORDER else matrix.T
        self.ld = lines.shape[1] + extra
        self.memory = np.full((lines.shape[0], self.ld), 77, matrix.dtype)
        self.memory[:, : lines.shape[1]] = lines

    def matrix_in(self, memory: Array) -> Array:
        """And nothing else was written."""
        lines, length = self.shape if self.order == ROW_ORDER else self.shape[::-1]
        assert (memory[:, length:] == self.memory[:, length:]).all(), "something was written between the lines"
        return memory[:lines, :length] if self.order == ROW_ORDER else memory[:lines, :length].T


def under(matrix: Array, operation: int) -> Array:
    """The matrix as an operation sees it."""
    if operation == PLAIN:
        return matrix
    return matrix.T if operation == TRANSPOSE else matrix.conj().T


def draw(rng: np.random.Generator, shape: Any, dtype: Any) -> Array:
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        return np.asarray(rng.integers(-9, 10, shape)).astype(dtype)
    numbers = rng.uniform(-2, 2, shape)
    if dtype == BFLOAT:
        return to_bfloat(numbers)
    return np.asarray(numbers + 1j * rng.uniform(-2, 2, shape) if dtype.kind == "c" else numbers).astype(dtype)


def draw_sparse(rng: np.random.Generator, shape: tuple[int, int], dtype: Any, formats: str = "Csr Csc Coo") -> Sparse:
    name = str(rng.choice(formats.split()))
    nnz = int(rng.integers(0, shape[0] * shape[1] + 1) * rng.choice([0.0, 0.1, 1.0], p=[0.1, 0.6, 0.3]))
    return Sparse(rng, name, shape, draw(rng, nnz, dtype), int(rng.integers(2)), rng.choice(["i4", "i8"]))


def draw_size(rng: np.random.Generator) -> int:
    return int(rng.choice(np.array([0, 1, rng.integers(2, 40)]), p=[0.05, 0.1, 0.85]))


def draw_scalars(rng: np.random.Generator, compute: Any) -> tuple[complex, complex]:
    """Alpha and beta; beta is often 0, and then what C held must not matter."""
    both = draw(rng, 2, compute)
    return both[0].item(), both[1].item() if rng.integers(2) else 0


def old_result(rng: np.random.Generator, shape: Any, dtype: Any, beta: complex) -> Array:
    old = draw(rng, shape, dtype)
    if beta == 0 and np.dtype(dtype).kind in "fc":
        old[...] = np.nan
    return old


def expect_close(got: Array, want: Array, magnitude: Array) -> None:
    """Within rounding of the sums of magnitudes that were added."""
    tolerance = TOLERANCES[got.dtype.str[1:]]
    error = np.abs(wide(got) - want)
    assert (error <= tolerance * (1 + magnitude)).all(), (error.max(), got.dtype)


def scaled(beta: complex, old: Array) -> Array:
    return np.zeros(old.shape) if beta == 0 else beta * wide(old)
