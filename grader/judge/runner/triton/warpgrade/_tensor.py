"""Arrays in device memory: an address, a shape and a type. Triton takes them for tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class DType:
    """A type of elements. Triton knows it by its name, as torch and NumPy spell it."""

    name: str
    itemsize: int
    triton: str  # "fp32"

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


DTYPES = {
    name: DType(name, size, triton)
    for name, size, triton in [
        ("int8", 1, "i8"),
        ("uint8", 1, "u8"),
        ("int16", 2, "i16"),
        ("uint16", 2, "u16"),
        ("int32", 4, "i32"),
        ("uint32", 4, "u32"),
        ("int64", 8, "i64"),
        ("uint64", 8, "u64"),
        ("float16", 2, "fp16"),
        ("bfloat16", 2, "bf16"),
        ("float32", 4, "fp32"),
        ("float64", 8, "fp64"),
    ]
}


class Memory(Protocol):
    """Where arrays of the submission's own come from."""

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""

    def release(self, address: int) -> None:
        """They are not needed any more."""

    def clear(self, address: int, size: int) -> None:
        """Zeros, behind the work that was launched so far."""


class _Place:
    memory: Memory | None = None  # set by the program that imports the submission


def use_memory(memory: Memory) -> None:
    """From now on arrays are made there."""
    _Place.memory = memory


def _memory() -> Memory:
    if _Place.memory is None:
        raise RuntimeError("device memory is there only while the judge calls plan, run and free")
    return _Place.memory


class _Owned:
    """Memory that goes back when the last array in it is gone."""

    def __init__(self, size: int) -> None:
        self.memory = _memory()
        self.address = self.memory.allocate(size)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.memory.release(self.address)


def _unreadable(self: Tensor, *_args: object) -> Any:  # noqa: ANN401
    raise TypeError(
        f"{self!r} is device memory, which Python cannot read: run() may choose by shapes and numbers alone. "
        "What depends on what an array holds belongs into a kernel, one that plan() launches, too"
    )


class Tensor:
    """An array, row-major, without gaps."""

    item = tolist = cpu = numpy = _unreadable
    __bool__ = __int__ = __float__ = __index__ = __iter__ = _unreadable
    __lt__ = __le__ = __gt__ = __ge__ = _unreadable

    def __init__(self, address: int, shape: tuple[int, ...], dtype: DType, owner: object = None) -> None:
        self._address = address
        self.shape = shape
        self.dtype = dtype
        self._owner = owner

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._address

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def numel(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def dim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def size(self, dim: int | None = None) -> int | tuple[int, ...]:
        """The shape, or one part of it."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> int | tuple[int, ...]:
        """Elements from one index to the next, of each dimension or of one."""
        strides = tuple(math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        """Arrays here have no gaps."""
        return True

    def view(self, *shape: int | tuple[int, ...]) -> Tensor:
        """The same elements in another shape."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        new = tuple(int(extent) for extent in wanted)  # type: ignore[arg-type]
        if -1 in new:
            rest = -math.prod(new)
            new = tuple(self.numel() // rest if rest and extent == -1 else extent for extent in new)
        if math.prod(new) != self.numel():
            raise ValueError(f"an array of shape {self.shape} cannot be seen as {new}")
        return Tensor(self._address, new, self.dtype, self._owner or self)

    reshape = view

    def __getitem__(self, rows: slice | int) -> Tensor:
        """Some of the first dimension's elements: a[10:20], a[3]."""
        if not self.shape:
            raise IndexError("an array without dimensions has no parts")
        if isinstance(rows, int):
            begin, end, _ = slice(rows, rows + 1 or None).indices(self.shape[0])
            if begin == end:
                raise IndexError(f"{rows} is outside of an array of {self.shape[0]}")
            shape = self.shape[1:]
        elif isinstance(rows, slice):
            begin, end, step = rows.indices(self.shape[0])
            if step != 1:
                raise ValueError("only parts without gaps: a[begin:end]")
            shape = (max(end - begin, 0), *self.shape[1:])
        else:
            raise TypeError("only parts of the first dimension: a[begin:end]")
        offset = begin * math.prod(self.shape[1:]) * self.dtype.itemsize
        return Tensor(self._address + offset, shape, self.dtype, self._owner or self)

    def __len__(self) -> int:
        return self.shape[0]

    def zero_(self) -> Tensor:
        """Fill with zeros, behind the work that was launched so far."""
        _memory().clear(self._address, self.numel() * self.dtype.itemsize)
        return self

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype})"


def dtype_named(dtype: object) -> DType:
    """A type by its name: "float32", tl.float32, numpy.float32."""
    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype).rpartition(".")[2]
    for known in DTYPES.values():
        if name in (known.name, known.triton):
            return known
    raise TypeError(f"no type of elements is called {name!r}; there are {', '.join(DTYPES)}")


def empty(shape: int | tuple[int, ...], dtype: object = "float32") -> Tensor:
    """An array in device memory that holds garbage. Make it in plan(): allocation takes time."""
    extents = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
    kind = dtype_named(dtype)
    owned = _Owned(max(1, math.prod(extents) * kind.itemsize))
    return Tensor(owned.address, extents, kind, owned)


def zeros(shape: int | tuple[int, ...], dtype: object = "float32") -> Tensor:
    """An array in device memory that holds zeros."""
    return empty(shape, dtype).zero_()
