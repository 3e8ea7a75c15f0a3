"""Features of Triton's language, one by one: `features.py NAME` says "right" where NumPy finds the same.

What each does is Triton's documentation of it ("Triton Language" at triton-lang.org). test_triton_features.py holds the
table of the page for students against what happens here.
"""

import sys

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

RANDOM = np.random.default_rng(7)
FEATURES = {}


def feature(function):
    """Its first line of documentation is its name in the table."""
    FEATURES[function.__name__] = function
    return function


def numbers(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def is_near(got, want, tolerance=1e-5):
    assert np.allclose(got, want, rtol=tolerance, atol=tolerance), (got, want)


# ---- descriptors


@triton.jit
def copy_by_descriptor(x, out, rows, cols, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [R, C])
    target = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [R, C])
    row, col = tl.program_id(0) * R, tl.program_id(1) * C
    target.store([row, col], source.load([row, col]) * 2)


@feature
def descriptors():
    """`tl.make_tensor_descriptor` in the kernel: load and store, parts of tiles at the edges"""
    triton.set_allocator(lambda size, align, stream: np.empty(size, np.int8))
    x, out = numbers(70, 100), np.zeros((70, 100), np.float32)
    copy_by_descriptor[(3, 4)](x, out, 70, 100, R=32, C=32)
    is_near(out, 2 * x)


# ---- loops


@triton.jit
def multiply(a, b, c, K, N: tl.constexpr, STAGES: tl.constexpr):
    lane, deep = tl.arange(0, N), tl.arange(0, 32)
    total = tl.zeros((N, N), tl.float32)
    for begin in tl.range(0, K, 32, num_stages=STAGES):
        x = tl.load(a + lane[:, None] * K + begin + deep[None, :])
        y = tl.load(b + (begin + deep)[:, None] * N + lane[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + lane[:, None] * N + lane[None, :], total)


@triton.jit
def multiply_by_two_groups(a, b, c, K, N: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [N, K], [K, 1], [N, 64])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [64, N])
    total = tl.zeros((N, N), tl.float32)
    for begin in tl.range(0, K, 64, num_stages=3, warp_specialize=True):
        total = tl.dot(left.load([0, begin]), right.load([begin, 0]), total)
    lane = tl.arange(0, N)
    tl.store(c + lane[:, None] * N + lane[None, :], total)


def product(kernel, **options):
    a, b, c = numbers(64, 256, dtype=np.float16), numbers(256, 64, dtype=np.float16), np.zeros((64, 64), np.float32)
    kernel[(1,)](a, b, c, 256, N=64, **options)
    is_near(c, a.astype(np.float32) @ b.astype(np.float32), 1e-3)


@feature
def stages():
    """`tl.range(..., num_stages=4)`: loads ahead"""
    product(multiply, STAGES=4)


@feature
def warp_specialization():
    """`tl.range(..., warp_specialize=True)`: some warps load by descriptors, others multiply"""
    triton.set_allocator(lambda size, align, stream: np.empty(size, np.int8))
    product(multiply_by_two_groups)


@triton.jit
def collatz(x, steps, N: tl.constexpr):
    lane = tl.arange(0, N)
    value, count = tl.load(x + lane), tl.zeros((N,), tl.int32)
    while tl.max(value) > 1:
        count += tl.where(value > 1, 1, 0)
        value = tl.where(value <= 1, value, tl.where(value % 2 == 0, value // 2, 3 * value + 1))
    for _ in tl.static_range(2):
        count += 1
    tl.store(steps + lane, count)


@feature
def loops():
    """`while` over a block's values, `tl.static_range`"""
    steps = np.zeros(8, np.int32)
    collatz[(1,)](np.arange(1, 9, dtype=np.int32), steps, N=8)
    assert steps.tolist() == [2, 3, 9, 4, 7, 10, 18, 5]


# ---- products


@triton.jit
def one_product(a, b, c, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr, KIND: tl.constexpr):
    row, deep = tl.arange(0, M), tl.arange(0, K)
    x = tl.load(a + row[:, None] * K + deep[None, :]).to(KIND)
    y = tl.load(b + deep[:, None] * M + row[None, :]).to(KIND)
    tl.store(c + row[:, None] * M + row[None, :], tl.dot(x, y, input_precision=PRECISION))


def dot(kind, precision="ieee", tolerance=1e-5, dtype=np.float32, integers=False):
    a, b = (RANDOM.integers(-3, 4, shape).astype(dtype) for shape in ((32, 64), (64, 32)))
    if not integers:
        a, b = numbers(32, 64), numbers(64, 32)
    c = np.zeros((32, 32), np.int32 if dtype == np.int8 else np.float32)
    one_product[(1,)](a, b, c, M=32, K=64, PRECISION=precision, KIND=kind)
    is_near(c, a.astype(np.float64) @ b.astype(np.float64), tolerance)


@feature
def tf32():
    """`tl.dot` of float32 as TF32, as three TF32, and in full precision"""
    for precision, tolerance in (("tf32", 5e-2), ("tf32x3", 1e-4), ("ieee", 1e-4)):
        dot(tl.float32, precision, tolerance)


@feature
def halves():
    """`tl.dot` of float16 and bfloat16"""
    dot(tl.float16, tolerance=5e-2)
    dot(tl.bfloat16, tolerance=3e-1)


@feature
def fp8():
    """`tl.dot` of `tl.float8e4nv` and `tl.float8e5`"""
    dot(tl.float8e4nv, integers=True)
    dot(tl.float8e5, integers=True)


@feature
def integers():
    """`tl.dot` of int8"""
    dot(tl.int8, dtype=np.int8, integers=True)


# ---- reductions and scans


@triton.jit
def larger_product(x, y):
    return tl.maximum(x, y)


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def recurrences(a, b, out, largest, places, N: tl.constexpr):
    lane = tl.arange(0, N)
    x, y = tl.load(a + lane), tl.load(b + lane)
    _, state = tl.associative_scan((x, y), 0, linear)
    tl.store(out + lane, state)
    tl.store(largest, tl.reduce(y, 0, larger_product))
    tl.store(places, tl.argmax(y, axis=0))


@feature
def own_reductions():
    """`tl.reduce` and `tl.associative_scan` with functions of one's own, `tl.argmax`"""
    a, b = RANDOM.uniform(0.5, 1, 128).astype(np.float32), numbers(128)
    out, largest, place = np.zeros(128, np.float32), np.zeros(1, np.float32), np.zeros(1, np.int32)
    recurrences[(1,)](a, b, out, largest, place, N=128)
    want, state = [], 0.0
    for x, y in zip(a, b, strict=True):
        state = state * x + y
        want.append(state)
    is_near(out, want, 1e-4)
    assert (largest[0], place[0]) == (b.max(), b.argmax())


@triton.jit
def orders(x, sorted_, sums, counts, mirrored, N: tl.constexpr):
    lane = tl.arange(0, N)
    value = tl.load(x + lane)
    tl.store(sorted_ + lane, tl.sort(value))
    tl.store(sums + lane, tl.cumsum(value))
    tl.store(counts + tl.arange(0, 16), tl.histogram(value, 16))
    tl.store(mirrored + lane, tl.flip(tl.gather(value, (lane + 1) % N, 0)))


@feature
def order_of_blocks():
    """`tl.sort`, `tl.cumsum`, `tl.histogram`, `tl.gather`, `tl.flip`"""
    x = RANDOM.integers(0, 16, 256).astype(np.int32)
    sorted_, sums, counts, mirrored = (np.zeros(size, np.int32) for size in (256, 256, 16, 256))
    orders[(1,)](x, sorted_, sums, counts, mirrored, N=256)
    assert (sorted_ == np.sort(x)).all()
    assert (sums == np.cumsum(x)).all()
    assert (counts == np.bincount(x, minlength=16)).all()
    assert (mirrored == np.roll(x, -1)[::-1]).all()


@triton.jit
def shapes(x, out, N: tl.constexpr):
    lane = tl.arange(0, N)
    even, odd = tl.split(tl.reshape(tl.load(x + tl.arange(0, 2 * N)), (N, 2)))
    both = tl.join(odd, even)
    tl.store(out + lane[:, None] * 2 + tl.arange(0, 2)[None, :], both)
    tl.store(out + 2 * N + tl.arange(0, 2 * N), tl.interleave(even, odd))
    tl.store(out + 4 * N + tl.arange(0, 2)[:, None] * N + lane[None, :], tl.trans(both))


@feature
def shapes_of_blocks():
    """`tl.reshape`, `tl.split`, `tl.join`, `tl.interleave`, `tl.trans`"""
    x, out = numbers(64), np.zeros(192, np.float32)
    shapes[(1,)](x, out, N=32)
    swapped = x.reshape(32, 2)[:, ::-1]
    is_near(out, np.concatenate([swapped.ravel(), x, swapped.T.ravel()]))


# ---- numbers


@triton.jit
def functions(x, out, N: tl.constexpr):
    lane = tl.arange(0, N)
    value = tl.load(x + lane)
    tl.store(out + lane, libdevice.atan2(tl.exp(value), tl.sqrt(tl.abs(value)) + 1) + tl.math.erf(value))


@feature
def library_functions():
    """`tl.math` and `libdevice`"""
    from math import erf  # noqa: PLC0415

    x, out = numbers(128), np.zeros(128, np.float32)
    functions[(1,)](x, out, N=128)
    is_near(out, np.arctan2(np.exp(x), np.sqrt(np.abs(x)) + 1) + [erf(v) for v in x])


@triton.jit
def draw(out, seed, N: tl.constexpr):
    lane = tl.arange(0, N)
    tl.store(out + lane, tl.rand(seed, lane))
    tl.store(out + N + lane, tl.randn(seed, lane))


@feature
def random_numbers():
    """`tl.rand`, `tl.randn`"""
    out = np.zeros(8192, np.float32)
    draw[(1,)](out, 11, N=4096)
    assert 0 <= out[:4096].min() <= out[:4096].max() < 1
    is_near([out[:4096].mean(), out[4096:].mean(), out[4096:].std()], [0.5, 0, 1], 0.05)


@triton.jit
def narrow(x, out, N: tl.constexpr):
    lane = tl.arange(0, N)
    value = tl.load(x + lane)
    again = tl.inline_asm_elementwise(
        "cvt.rna.tf32.f32 $0, $1;", "=r,r", [value], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + lane, again)


@feature
def inline_ptx():
    """`tl.inline_asm_elementwise`"""
    x, out = numbers(128), np.zeros(128, np.float32)
    narrow[(1,)](x, out, N=128)
    is_near(out, x, 1e-3)
    assert not (out.view(np.uint32) & 0x1FFF).any()


# ---- programs together


@triton.jit
def count_up(counter, largest, lock, total, N: tl.constexpr):
    tl.atomic_add(counter, 1)
    tl.atomic_max(largest, tl.program_id(0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.store(total, tl.load(total) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@feature
def atomics():
    """`tl.atomic_add`, `_max`, `_cas`, `_xchg`, a lock between programs"""
    counter, largest, lock, total = (np.zeros(1, np.int32) for _ in range(4))
    count_up[(20,)](counter, largest, lock, total, N=1)
    assert [counter[0], largest[0], lock[0], total[0]] == [20, 19, 0, 190]


@feature
def clusters():
    """`num_ctas=2`: a program of two blocks"""
    a, b = (numbers(128, 64, dtype=np.float16), numbers(64, 128, dtype=np.float16))
    c = np.zeros((128, 128), np.float32)
    one_product[(1,)](a, b, c, M=128, K=64, PRECISION="ieee", KIND=tl.float16, num_ctas=2)
    is_near(c, a.astype(np.float32) @ b.astype(np.float32), 1e-2)


# ---- telling


@triton.jit
def positive(x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.device_assert(value > 0, "every number is positive")
    tl.device_print("the largest:", tl.max(value))
    tl.static_assert(N == 32)


@feature
def assertions():
    """`tl.device_assert` (with TRITON_DEBUG=1), `tl.device_print`, `tl.static_assert`"""
    x = np.ones(32, np.float32)
    positive[(1,)](x, N=32)
    x[5] = -1
    try:
        positive[(1,)](x, N=32)
    except RuntimeError:
        return
    raise AssertionError("a failed assertion was silent")


if __name__ == "__main__":
    FEATURES[sys.argv[1]]()
    print("right")
