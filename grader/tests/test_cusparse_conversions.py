"""The emulator's cuSPARSE: conversions, sorts, triangular systems and vectors against SciPy and NumPy."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cusparse_calls import (
    COLUMN_ORDER,
    CONJUGATE,
    INVALID,
    LIBRARIES,
    PLAIN,
    ROW_ORDER,
    UNIFORM,
    Array,
    Device,
    LaidOut,
    Sparse,
    draw,
    draw_scalars,
    draw_size,
    expect_close,
    seeded,
    type_code,
    under,
    wide,
)
from scipy import sparse

pytestmark = pytest.mark.skipif(not list(LIBRARIES.glob("libcusparse.so.*")), reason="the emulator has no cuSPARSE")


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device()
    yield made
    made.close()


@pytest.mark.parametrize("turn", range(3))
def test_conversions_and_back_are_the_same_matrix(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind in (np.float32, np.float64, np.complex64, np.complex128, np.float16, np.int8):
        shape = (draw_size(rng), draw_size(rng))
        matrix = draw(rng, shape, kind) * (rng.random(shape) < 0.3)
        matrix = matrix.astype(kind)
        dense = LaidOut(matrix, int(rng.choice([COLUMN_ORDER, ROW_ORDER])), int(rng.integers(3)))
        dense_of, _ = device.dense(dense)
        name = str(rng.choice(["Csr", "Csc", "Coo"]))
        base, lines = int(rng.integers(2)), shape[1 if name == "Csc" else 0]
        offsets_at = device.allocate(4 * (lines + 1))
        types = (2, base, type_code(kind)) if name == "Coo" else (2, 2, base, type_code(kind))
        found_of = device.create(name, *shape, 0, offsets_at if name != "Coo" else None, None, None, *types)
        size = c.c_size_t()
        device.must("cusparseDenseToSparse_bufferSize", device.handle, dense_of, found_of, 0, c.byref(size))
        buffer = device.allocate(size.value)
        device.must("cusparseDenseToSparse_analysis", device.handle, dense_of, found_of, 0, buffer)
        sizes = [c.c_int64() for _ in range(3)]
        device.must("cusparseSpMatGetSize", found_of, *map(c.byref, sizes))
        nnz = sizes[2].value
        assert nnz == np.count_nonzero(matrix)
        inner, values = np.zeros(nnz, np.int32), np.zeros(nnz, kind)
        inner_at, values_at = device.send(inner), device.send(values)
        if name == "Coo":
            offsets_at = device.allocate(4 * nnz)
        device.must(f"cusparse{name}SetPointers", found_of, offsets_at, inner_at, values_at)
        device.must("cusparseDenseToSparse_convert", device.handle, dense_of, found_of, 0, buffer)
        outer = device.receive(offsets_at, np.zeros(nnz if name == "Coo" else lines + 1, np.int32)) - base
        got = device.receive(inner_at, inner) - base, device.receive(values_at, values)
        if name == "Coo":
            there = sparse.coo_array((wide(got[1]), (outer, got[0])), shape=shape).toarray()
        else:
            of_scipy = sparse.csr_array if name == "Csr" else sparse.csc_array
            there = of_scipy((wide(got[1]), got[0], outer), shape=shape).toarray()
        assert (there == wide(matrix)).all()
        back = LaidOut(np.full(shape, 7, kind), ROW_ORDER, 2)
        back_of, back_at = device.dense(back)
        assert device.with_buffer("cusparseSparseToDense", found_of, back_of, 0) == 0
        assert (back.matrix_in(device.receive(back_at, back.memory)) == matrix).all()
        device.clear()


def test_formats_change_as_scipys_do(device: Device) -> None:
    rng = seeded()
    for base in (0, 1):
        a = Sparse(rng, "Csr", (11, 6), draw(rng, 30, np.float32), base, "i4")
        offsets, columns = a.arrays()
        at = device.send(offsets), device.send(columns), device.send(a.values)
        rows, again, csc = device.allocate(120), device.allocate(48), [device.allocate(n) for n in (120, 28, 120)]
        device.must("cusparseXcsr2coo", device.handle, at[0], a.nnz, 11, rows, base)
        assert (device.receive(rows, columns) == a.rows + base).all()
        device.must("cusparseXcoo2csr", device.handle, rows, a.nnz, 11, again, base)
        assert (device.receive(again, offsets) == offsets).all()
        assert device.with_buffer(
            "cusparseCsr2cscEx2", 11, 6, a.nnz, at[2], at[0], at[1], *csc, 0, 1, base, 1
        ) == 0  # fmt: skip
        want = sparse.csc_array(a.dense())
        assert (device.receive(csc[1], np.zeros(7, np.int32)) == want.indptr + base).all()
        assert (device.receive(csc[2], columns) == want.indices + base).all()
        assert (device.receive(csc[0], a.values) == want.data).all()
        # Sorted, with the permutation that values need.
        description = c.c_void_p()
        device.must("cusparseCreateMatDescr", c.byref(description))
        device.must("cusparseSetMatIndexBase", description, base)
        order = device.allocate(120)
        device.must("cusparseCreateIdentityPermutation", device.handle, a.nnz, order)
        device.must(
            "cusparseXcsrsort", device.handle, 11, 6, a.nnz, description, at[0], at[1], order, device.allocate(256)
        )
        sorted_values = a.values[device.receive(order, columns)]
        want_rows = sparse.csr_array(a.dense())
        assert (device.receive(at[1], columns) == want_rows.indices + base).all()
        assert (sorted_values == want_rows.data).all()
        shuffled = rng.permutation(a.nnz)
        pair = device.send((a.rows[shuffled]).astype(np.int32)), device.send((a.columns[shuffled]).astype(np.int32))
        device.must("cusparseXcoosortByColumn", device.handle, 11, 6, a.nnz, *pair, None, device.allocate(256))
        by_column = sorted(zip(a.columns.tolist(), a.rows.tolist(), strict=True))
        got = zip(device.receive(pair[1], columns).tolist(), device.receive(pair[0], columns).tolist(), strict=True)
        assert list(got) == by_column
        device.clear()


def triangular(rng: np.random.Generator, size: int, kind: Any) -> tuple[Sparse, Array]:
    """Both triangles have entries; the diagonal is far from 0."""
    a = Sparse(
        rng, str(rng.choice(["Csr", "Coo"])), (size, size), draw(rng, size * 4, kind), int(rng.integers(2)), "i4"
    )
    a.rows, a.columns = (np.concatenate([part, np.arange(size)]) for part in (a.rows, a.columns))
    a.values = np.concatenate([a.values / 8, np.full(size, 20)]).astype(kind)
    order = np.argsort(a.rows, kind="stable")
    a.rows, a.columns, a.values, a.nnz = a.rows[order], a.columns[order], a.values[order], a.values.size
    return a, a.dense()


@pytest.mark.parametrize("turn", range(3))
def test_triangular_systems_are_solved(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, _, compute in UNIFORM:
        size, columns = int(rng.integers(8, 30)), int(rng.integers(1, 6))
        a, matrix = triangular(rng, size, kind)
        a_of = device.matrix(a)
        upper, unit, op_a, op_b = (int(rng.integers(high)) for high in (2, 2, 3, 2))
        for attribute, value in enumerate((upper, unit)):
            device.must("cusparseSpMatSetAttribute", a_of, attribute, c.byref(c.c_int(value)), 4)
        triangle = np.triu(matrix) if upper else np.tril(matrix)
        if unit:
            np.fill_diagonal(triangle, 1)
        system = under(triangle, op_a)
        alpha, _ = draw_scalars(rng, compute)
        x = draw(rng, size, kind)
        (x_of, _), (y_of, y_at) = device.vector(x), device.vector(x)
        state, size_of = c.c_void_p(), c.c_size_t()
        device.must("cusparseSpSV_createDescr", c.byref(state))
        words = (device.handle, op_a, device.scalar(alpha, compute), a_of, x_of, y_of, type_code(compute), 0, state)
        assert device.call("cusparseSpSV_solve", *words) == INVALID  # before the analysis
        device.must("cusparseSpSV_bufferSize", *words, c.byref(size_of))
        device.must("cusparseSpSV_analysis", *words, device.allocate(size_of.value))
        device.must("cusparseSpSV_solve", *words)
        want = np.linalg.solve(system, alpha * wide(x))
        expect_close(device.receive(y_at, x), want, 10 * abs(want).max())
        b_values = draw(rng, (columns, size) if op_b else (size, columns), kind)
        out = LaidOut(np.zeros((size, columns), kind), COLUMN_ORDER, 1)
        (b_of, _), (out_of, out_at) = device.dense(LaidOut(b_values, ROW_ORDER, 2)), device.dense(out)
        device.must("cusparseSpSM_createDescr", c.byref(state))
        system_words = (
            device.handle,
            op_a,
            op_b,
            device.scalar(alpha, compute),
            a_of,
            b_of,
            out_of,
            type_code(compute),
            0,
            state,
        )
        device.must("cusparseSpSM_bufferSize", *system_words, c.byref(size_of))
        device.must("cusparseSpSM_analysis", *system_words, device.allocate(size_of.value))
        device.must("cusparseSpSM_solve", *system_words)
        want = np.linalg.solve(system, alpha * under(wide(b_values), op_b))
        expect_close(out.matrix_in(device.receive(out_at, out.memory)), want, 10 * abs(want).max())
        device.clear()


@pytest.mark.parametrize("turn", range(3))
def test_sparse_vectors_meet_dense_ones(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, _, compute in UNIFORM:
        size = int(rng.integers(1, 50))
        nnz, base = int(rng.integers(0, size + 1)), int(rng.integers(2))
        places = rng.choice(size, nnz, replace=False)
        x, y = draw(rng, nnz, kind), draw(rng, size, kind)
        x_at = device.send(x)
        x_of = device.create(
            "SpVec", size, nnz, device.send((places + base).astype(np.int64)), x_at, 3, base, type_code(kind)
        )
        y_of, y_at = device.vector(y)
        alpha, beta = draw_scalars(rng, compute)
        at = places
        result = np.zeros(1, compute)
        for operation, left in ((PLAIN, x), (CONJUGATE, x.conj())):
            place = c.c_void_p(result.ctypes.data)
            assert device.with_buffer("cusparseSpVV", operation, x_of, y_of, place, type_code(compute)) == 0
            expect_close(result, np.array([wide(left) @ wide(y[at])]), np.array([abs(wide(x)) @ abs(wide(y[at]))]))
        device.must(
            "cusparseAxpby", device.handle, device.scalar(alpha, compute), x_of, device.scalar(beta, compute), y_of
        )
        want = beta * wide(y)
        want[at] += alpha * wide(x)
        got = device.receive(y_at, y)
        expect_close(got, want, 8 + abs(want))
        cosine, sine = draw_scalars(rng, compute)
        device.must(
            "cusparseRot", device.handle, device.scalar(cosine, compute), device.scalar(sine, compute), x_of, y_of
        )
        turned = wide(got)
        turned[at] = cosine * wide(got[at]) - sine * wide(x)
        expect_close(device.receive(y_at, y), turned, 20 + abs(turned))
        expect_close(device.receive(x_at, x), cosine * wide(x) + sine * wide(got[at]), np.full(nnz, 20.0))
        device.must("cusparseGather", device.handle, y_of, x_of)
        rotated = device.receive(y_at, y)
        assert (device.receive(x_at, x) == rotated[at]).all()
        fresh_of, fresh_at = device.vector(np.zeros_like(y))
        device.must("cusparseScatter", device.handle, x_of, fresh_of)
        assert (device.receive(fresh_at, y)[at] == rotated[at]).all()
        device.clear()
