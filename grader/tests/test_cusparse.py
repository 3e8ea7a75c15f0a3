"""The emulator's cuSPARSE: products against SciPy and NumPy, over random matrices."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator

import numpy as np
import pytest
from cusparse_calls import (
    BFLOAT,
    COLUMN_ORDER,
    KINDS,
    LIBRARIES,
    PLAIN,
    ROW_ORDER,
    UNIFORM,
    Device,
    LaidOut,
    draw,
    draw_scalars,
    draw_size,
    draw_sparse,
    expect_close,
    old_result,
    scaled,
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


@pytest.mark.parametrize("turn", range(10))
def test_products_with_vectors_are_scipys(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, result, compute in [*KINDS, (np.float32, np.float64, np.float64)]:
        a = draw_sparse(rng, (draw_size(rng), draw_size(rng)), kind)
        operation = int(rng.integers(3))
        matrix = under(a.dense(), operation)
        alpha, beta = draw_scalars(rng, compute)
        x = draw(rng, matrix.shape[1], result if (kind, compute) == (np.float32, np.float64) else kind)
        y = old_result(rng, matrix.shape[0], result, beta)
        (x_of, _), (y_of, y_at) = device.vector(x), device.vector(y)
        algorithm = int(rng.choice([0, 1, 4] if a.format == "Coo" else [0, 2, 3]))
        status = device.with_buffer(
            "cusparseSpMV", operation, device.scalar(alpha, compute), device.matrix(a), x_of,
            device.scalar(beta, compute), y_of, type_code(compute), algorithm, preprocess=bool(rng.integers(2)),
        )  # fmt: skip
        assert status == 0, (kind, result, compute)
        want = alpha * (matrix @ wide(x)) + scaled(beta, y)
        size = abs(alpha) * (abs(matrix) @ abs(wide(x))) + abs(scaled(beta, y))
        expect_close(device.receive(y_at, y), want, size)
        device.clear()


@pytest.mark.parametrize("turn", range(10))
def test_products_with_dense_matrices_are_scipys(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, result, compute in KINDS:
        a = draw_sparse(rng, (draw_size(rng), draw_size(rng)), kind)
        op_a, op_b = (int(op) for op in rng.integers(3, size=2))
        left = under(a.dense(), op_a)
        columns = draw_size(rng)
        inner = (left.shape[1], columns)
        b_values = draw(rng, inner if op_b == PLAIN else inner[::-1], kind)
        alpha, beta = draw_scalars(rng, compute)
        orders = rng.choice([COLUMN_ORDER, ROW_ORDER], 2)
        b = LaidOut(b_values, orders[0], int(rng.integers(3)))
        old = old_result(rng, (left.shape[0], columns), result, beta)
        out = LaidOut(old, orders[1], int(rng.integers(3)))
        (b_of, _), (out_of, out_at) = device.dense(b), device.dense(out)
        algorithm = int(rng.choice([0, 1, 2, 3, 5] if a.format == "Coo" else [0, 4, 6, 12]))
        status = device.with_buffer(
            "cusparseSpMM", op_a, op_b, device.scalar(alpha, compute), device.matrix(a), b_of,
            device.scalar(beta, compute), out_of, type_code(compute), algorithm, preprocess=bool(rng.integers(2)),
        )  # fmt: skip
        assert status == 0, (kind, result, compute)
        right = under(wide(b_values), op_b)
        want = alpha * (left @ right) + scaled(beta, old)
        size = abs(alpha) * (abs(left) @ abs(right)) + abs(scaled(beta, old))
        expect_close(out.matrix_in(device.receive(out_at, out.memory)), want, size)
        device.clear()


@pytest.mark.parametrize("turn", range(5))
def test_sampled_products_are_numpys(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, result, compute in [kinds for kinds in KINDS if kinds[0] != np.int8]:
        rows, columns, inner = (draw_size(rng) for _ in range(3))
        c_matrix = draw_sparse(rng, (rows, columns), result, "Csr")
        op_a, op_b = (int(op) for op in rng.integers(2, size=2))
        a_values = draw(rng, (rows, inner) if op_a == PLAIN else (inner, rows), kind)
        b_values = draw(rng, (inner, columns) if op_b == PLAIN else (columns, inner), kind)
        alpha, beta = draw_scalars(rng, compute)
        old = c_matrix.values
        if beta == 0 and old.dtype != BFLOAT:
            old[...] = np.nan
        a_of, _ = device.dense(LaidOut(a_values, ROW_ORDER, 1))
        b_of, _ = device.dense(LaidOut(b_values, COLUMN_ORDER))
        c_of = device.matrix(c_matrix)
        status = device.with_buffer(
            "cusparseSDDMM", op_a, op_b, device.scalar(alpha, compute), a_of, b_of, device.scalar(beta, compute),
            c_of, type_code(compute), 0, preprocess=True,
        )  # fmt: skip
        assert status == 0, (kind, result, compute)
        left, right = under(wide(a_values), op_a), under(wide(b_values), op_b)
        place = c_matrix.rows, c_matrix.columns
        at = c.c_void_p()
        device.must("cusparseSpMatGetValues", c_of, c.byref(at))
        want = alpha * (left @ right)[place] + scaled(beta, old)
        expect_close(
            device.receive(at, old), want, abs(alpha) * (abs(left) @ abs(right))[place] + abs(scaled(beta, old))
        )
        device.clear()


def test_batches_have_their_own_values(device: Device) -> None:
    """Matrices with one structure and values of their own; B is one for all."""
    rng = seeded()
    batches, rows, inner, columns = 3, 7, 9, 4
    a = draw_sparse(rng, (rows, inner), np.float32, "Csr")
    values = draw(rng, (batches, a.nnz), np.float32)
    a.values = values.ravel()
    offsets, columns_of = a.arrays()
    at = device.send(offsets), device.send(np.tile(columns_of, batches)), device.send(a.values)  # as its samples do
    index_type = 2 if a.index == "i4" else 3
    a_of = device.create("Csr", rows, inner, a.nnz, *at, index_type, index_type, a.base, 0)
    b_values, old = draw(rng, (inner, columns), np.float32), np.zeros((batches, rows, columns), np.float32)
    b_of, _ = device.dense(LaidOut(b_values, ROW_ORDER))
    out_at = device.send(old)
    out_of = device.create("DnMat", rows, columns, columns, out_at, 0, ROW_ORDER)
    device.must("cusparseCsrSetStridedBatch", a_of, batches, 0, a.nnz)
    device.must("cusparseDnMatSetStridedBatch", out_of, batches, rows * columns)
    device.must("cusparseDnMatSetStridedBatch", b_of, batches, 0)
    one, none = device.scalar(1, np.float32), device.scalar(0, np.float32)
    assert device.with_buffer("cusparseSpMM", PLAIN, PLAIN, one, a_of, b_of, none, out_of, 0, 0) == 0
    got = device.receive(out_at, old)
    for batch in range(batches):
        a.values = values[batch]
        np.testing.assert_allclose(got[batch], a.dense() @ b_values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("turn", range(5))
def test_products_of_sparse_matrices_are_scipys(device: Device, turn: int) -> None:
    rng = seeded(turn)
    for kind, _, compute in UNIFORM:
        rows, inner, columns = (draw_size(rng) for _ in range(3))
        a = draw_sparse(rng, (rows, inner), kind, "Csr")
        b = draw_sparse(rng, (inner, columns), kind, "Csr")
        alpha, _ = draw_scalars(rng, compute)
        offsets = np.zeros(rows + 1, np.int32)
        offsets_at = device.send(offsets)
        out = device.create("Csr", rows, columns, 0, offsets_at, None, None, 2, 2, 0, type_code(kind))
        plan = c.c_void_p()
        device.must("cusparseSpGEMM_createDescr", c.byref(plan))
        words = (
            device.handle, PLAIN, PLAIN, device.scalar(alpha, compute), device.matrix(a), device.matrix(b),
            device.scalar(0, compute), out, type_code(compute), 0, plan,
        )  # fmt: skip
        for step in ("cusparseSpGEMM_workEstimation", "cusparseSpGEMM_compute"):
            size = c.c_size_t()
            device.must(step, *words, c.byref(size), None)
            device.must(step, *words, c.byref(size), device.allocate(max(size.value, 1)))
        sizes = [c.c_int64() for _ in range(3)]
        device.must("cusparseSpMatGetSize", out, *map(c.byref, sizes))
        indices, values = np.zeros(sizes[2].value, np.int32), np.zeros(sizes[2].value, kind)
        indices_at, values_at = device.send(indices), device.send(values)
        device.must("cusparseCsrSetPointers", out, offsets_at, indices_at, values_at)
        device.must("cusparseSpGEMM_copy", *words)
        got = [
            device.receive(at, like) for at, like in ((values_at, values), (indices_at, indices), (offsets_at, offsets))
        ]
        product = sparse.csr_array(tuple(got), shape=(rows, columns))
        ones = (
            sparse.csr_array(abs(a.dense()) > 0).astype(int) @ sparse.csr_array(abs(b.dense()) > 0).astype(int)
        ).tocsr()
        assert product.nnz == ones.nnz  # an entry wherever a product is, even if a sum is 0
        size_of = abs(alpha) * (abs(a.dense()) @ abs(b.dense()))
        expect_close(product.toarray(), alpha * (a.dense() @ b.dense()), size_of)
        device.must("cusparseSpGEMM_destroyDescr", plan)
        device.clear()


def test_scalars_may_lie_on_the_device(device: Device) -> None:
    rng = seeded()
    a = draw_sparse(rng, (8, 8), np.float32, "Csr")
    (x_of, _), (y_of, y_at) = device.vector(np.ones(8, np.float32)), device.vector(np.ones(8, np.float32))
    device.must("cusparseSetPointerMode", device.handle, 1)
    alpha, beta = device.send(np.array([2], np.float32)), device.send(np.array([3], np.float32))
    assert device.with_buffer("cusparseSpMV", PLAIN, alpha, device.matrix(a), x_of, beta, y_of, 0, 0) == 0
    np.testing.assert_allclose(
        device.receive(y_at, np.ones(8, np.float32)), 2 * a.dense().sum(1) + 3, rtol=1e-5, atol=1e-5
    )
