"""Runs a program in Python whose kernels are Triton's or Numba's without a GPU: `warpemu python FILE` starts it so.

    python warpemu_triton.py FILE [ARGUMENTS]      as `python FILE`; also -m MODULE and -c CODE

Triton compiles as it does for a GPU, up to PTX. In the place of its driver for GPUs stands one of the emulator: arrays
are NumPy's, or torch's on the CPU, and kernels read and write them where they are. `get_active_torch_device()` is the
CPU. Of an autotuner's configurations each is run once, and none is quicker than another. What Numba needs is in
warpemu_numba.py.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import dataclasses
import functools
import gc
import importlib.abc
import importlib.machinery
import os
import re
import runpy
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parent))  # which `python -P` leaves out
import warpemu_numba

del sys.path[0]

MAJOR, MINOR, PROCESSORS, SHARED = 75, 76, 16, 97  # CUdevice_attribute
REGISTERS, MOST_SHARED = 4, 8  # CU_FUNC_ATTRIBUTE_NUM_REGS, ..._MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER, COOPERATIVE = 4, 2  # CUlaunchAttributeID
ALREADY_REGISTERED = 712
PACKAGES = {"triton": ("Triton", "1 GB", "triton"), "numba": ("Numba", "300 MB", "numba-cuda")}
DEVICE_MAP = 2
INTEGERS = {"i1": ctypes.c_int8, "u1": ctypes.c_uint8} | {
    f"{sign}{bits}": getattr(ctypes, f"c_{'u' if sign == 'u' else ''}int{bits}")
    for sign in "iu"
    for bits in (8, 16, 32, 64)
}


class EmulatorError(RuntimeError):
    """A call that failed, by name; the emulator has told more on standard error."""


@functools.cache
def driver_api() -> ctypes.CDLL:
    """The emulator's libcuda, with a context."""
    api = ctypes.CDLL("libcuda.so.1")
    if not hasattr(api, "warpemu_driver_bridge"):
        raise EmulatorError("libcuda.so.1 is not the emulator's: start the program by `warpemu python FILE`")
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _check(api.cuInit(0), "cuInit")
    _check(api.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    _check(api.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    _check(api.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return api


def _check(code: int, call: str) -> None:
    if code:
        raise EmulatorError(f"{call} failed with error {code}")


@functools.cache
def attribute(number: int) -> int:
    """Of the emulated device."""
    value = ctypes.c_int()
    _check(driver_api().cuDeviceGetAttribute(ctypes.byref(value), number, 0), "cuDeviceGetAttribute")
    return value.value


# ---- Arrays


class NumPyArray:
    """What Triton wants of a tensor, of a NumPy array."""

    def __init__(self, array: Any) -> None:  # noqa: ANN401
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def data_ptr(self) -> int:
        """Where its first element lies."""
        return int(self.array.ctypes.data)


def as_tensor(value: object) -> object:
    """A NumPy array as what Triton takes, anything else as it is."""
    is_array = type(value).__module__ == "numpy" and hasattr(value, "ctypes")
    return NumPyArray(value) if is_array else value


def memory_of(tensor: Any) -> tuple[int, int]:  # noqa: ANN401
    """Address and bytes of all that the array is a part of."""
    if isinstance(tensor, NumPyArray):
        whole = tensor.array
        while type(whole.base).__module__ == "numpy" and hasattr(whole.base, "ctypes"):
            whole = whole.base
        return int(whole.ctypes.data), int(whole.nbytes)
    device = getattr(tensor, "device", None)
    if getattr(device, "type", "cpu") != "cpu":
        raise EmulatorError(
            f"a tensor is on {device}, and the emulator's kernels see the CPU's memory: use device='cpu'"
        )
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return int(storage.data_ptr()), int(storage.nbytes())


def element_bytes(tensor: Any) -> int:  # noqa: ANN401
    """Of one element; 0 where nobody knows."""
    size = getattr(tensor.dtype, "itemsize", None)  # NumPy's, and torch's since 2.1
    return int(size or (tensor.element_size() if hasattr(tensor, "element_size") else 0))


Arrays = list[tuple[str, object]]  # of a launch, with the names of their parameters


@contextlib.contextmanager
def visible(arrays: Arrays) -> Iterator[None]:
    """The arrays' memory, as kernels may touch it, and no byte more."""
    api, known = driver_api(), set()
    try:
        for name, tensor in arrays:
            address, size = memory_of(tensor)
            if size and address not in known:
                code = api.cuMemHostRegister_v2(ctypes.c_void_p(address), ctypes.c_size_t(size), DEVICE_MAP)
                if code == ALREADY_REGISTERED:
                    continue
                _check(code, "cuMemHostRegister")
                known.add(address)
                api.warpemu_name_memory(ctypes.c_void_p(address), f"the array {name}".encode(), element_bytes(tensor))
        yield
    finally:
        for address in known:
            api.cuMemHostUnregister(ctypes.c_void_p(address))


# ---- Launches


def tell_place() -> None:
    """Tells the emulator which line of the program makes the next calls: neither Triton's nor one of ours."""
    frame = sys._getframe(1)
    while frame is not None and not is_the_program_s(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    name = frame.f_code.co_filename.encode() if frame else b""
    driver_api().warpemu_tell_place(name, frame.f_lineno if frame else 0)


def packed(kind: str, value: Any) -> Any:  # noqa: ANN401
    """A number as the kernel's parameter of this type."""
    if kind in INTEGERS:
        return INTEGERS[kind](int(value))
    if kind in {"fp64", "f64"}:
        return ctypes.c_double(value)
    if kind in {"fp32", "f32"}:
        return ctypes.c_float(value)
    if kind in {"fp16", "f16"}:
        return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", value))[0])
    if kind == "bf16":
        return ctypes.c_uint16(struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
    raise EmulatorError(f"a parameter of type {kind} is not supported")


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        *[(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")],
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: a number, and a value of 64 bytes."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16))


class Launcher:
    """In the place of Triton's launcher of one compiled kernel."""

    def __init__(self, source: Any, metadata: Any) -> None:  # noqa: ANN401
        self.signature = dict(source.signature)
        self.metadata = metadata
        if getattr(metadata, "tensordesc_meta", None):
            raise EmulatorError("tensor descriptors of the host are not supported: make them in the kernel")

    def parameters(self, name: str, kinds: Sequence[Any], values: Sequence[Any], arrays: Arrays) -> Iterator[Any]:
        """What a parameter of the function is to the kernel, in order; a constant is nothing."""
        from triton.backends.driver import decompose_descriptor, expand_signature  # noqa: PLC0415

        for kind, value in zip(kinds, values, strict=True):
            if isinstance(kind, tuple):
                yield from self.parameters(name, kind, value, arrays)
            elif kind == "constexpr":
                continue
            elif kind.startswith("tensordesc"):
                parts = expand_signature([kind], None, ""), decompose_descriptor(value)
                yield from self.parameters(name, *parts, arrays)
            elif kind.startswith("*"):
                yield self.pointer(name, value, arrays)
            else:
                yield packed(kind, value)

    @staticmethod
    def pointer(name: str, value: Any, arrays: Arrays) -> ctypes.c_void_p:  # noqa: ANN401
        """The address of an array, which is noted."""
        tensor = as_tensor(value)
        if tensor is None or isinstance(tensor, int):
            return ctypes.c_void_p(tensor or 0)
        arrays.append((name, tensor))
        return ctypes.c_void_p(tensor.data_ptr())  # type: ignore[attr-defined]

    def attributes(self) -> Any:  # noqa: ANN401
        """Clusters and cooperative launches."""
        found = []
        if (ctas := getattr(self.metadata, "num_ctas", 1)) > 1:
            found.append(_Attribute(CLUSTER, 0, (ctypes.c_uint * 16)(ctas, 1, 1)))
        if getattr(self.metadata, "launch_cooperative_grid", False):
            found.append(_Attribute(COOPERATIVE, 0, (ctypes.c_uint * 16)(1)))
        return (_Attribute * len(found))(*found)

    def __call__(self, gx: int, gy: int, gz: int, stream: int, function: ctypes.c_void_p, *rest: Any) -> None:  # noqa: ANN401
        """Launches and waits: what went wrong is told at this call."""
        _, launch_metadata, enter, leave, *values = rest
        metadata = self.metadata
        arrays: Arrays = []
        parameters = [
            parameter
            for (name, kind), value in zip(self.signature.items(), values, strict=True)
            for parameter in self.parameters(name, [kind], [value], arrays)
        ]
        for size, align in (
            (getattr(metadata, "global_scratch_size", 0), getattr(metadata, "global_scratch_align", 1)),
            (getattr(metadata, "profile_scratch_size", 0), 1),
        ):
            parameters.append(self.scratch(size * gx * gy * gz, align, stream, arrays))
        if gx * gy * gz == 0:
            return
        if enter is not None:
            enter(launch_metadata)
        addresses = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(each) for each in parameters])
        attributes = self.attributes()
        ctas = getattr(metadata, "num_ctas", 1)
        config = _Config(
            gx * ctas, gy, gz, 32 * metadata.num_warps, 1, 1, metadata.shared, stream,
            ctypes.addressof(attributes) if len(attributes) else None, len(attributes),
        )  # fmt: skip
        tell_place()
        with visible(arrays):
            _check(
                driver_api().cuLaunchKernelEx(ctypes.byref(config), function, addresses, None),
                f"the launch of {metadata.name}",
            )
            _check(driver_api().cuCtxSynchronize(), metadata.name)
        if leave is not None:
            leave(launch_metadata)

    @staticmethod
    def scratch(size: int, align: int, stream: int, arrays: Arrays) -> ctypes.c_void_p:
        """Memory that a kernel wants beside its arrays: by what the program gave to triton.set_allocator."""
        if not size:
            return ctypes.c_void_p(0)
        from triton.runtime import _allocation  # noqa: PLC0415

        # A GPU's memory is aligned whatever was asked for, and programs rely on it; the CPU's is not.
        buffer = as_tensor(_allocation._allocator.get()(size + align, align, stream))
        address = Launcher.pointer("of set_allocator", buffer, arrays).value or 0
        return ctypes.c_void_p(-(-address // align) * align)


def with_true_lines(ptx: str) -> str:
    """LLVM counts the lines of assembly within a statement as lines of the source: all are the statement's."""

    def once(found: re.Match[str]) -> str:
        first, *others = re.split(r"(?m)^(?=\s*\.loc)", found[0])
        if others:
            first += others[0] + "".join(part.split("\n", 1)[1] for part in others[1:])
        return first

    return re.sub(r"(?s)// begin inline asm.*?// end inline asm", once, ptx)


class Utilities:
    """What Triton asks of a driver's utilities."""

    @staticmethod
    def get_device_properties(_device: int) -> dict[str, int]:
        """Sizes that kernels are checked against."""
        return {
            "max_shared_mem": attribute(SHARED),
            "multiprocessor_count": attribute(PROCESSORS),
            "max_num_regs": 65536,
            "warpSize": 32,
            "sm_clock_rate": 1_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 4096,
        }

    @staticmethod
    def load_binary(name: str, code: str | bytes, shared: int, _device: int) -> tuple[Any, Any, int, int, int]:
        """Module, function, registers, spills, most threads of a block."""
        api, module, function = driver_api(), ctypes.c_void_p(), ctypes.c_void_p()
        ptx = code.decode() if isinstance(code, bytes) else code
        _check(api.cuModuleLoadData(ctypes.byref(module), with_true_lines(ptx).encode() + b"\0"), "cuModuleLoadData")
        _check(api.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
        if shared:
            _check(api.cuFuncSetAttribute(function, MOST_SHARED, shared), "cuFuncSetAttribute")
        registers = ctypes.c_int()
        _check(api.cuFuncGetAttribute(ctypes.byref(registers), REGISTERS, function), "cuFuncGetAttribute")
        return module, function, registers.value or 32, 0, 1024  # 32: what nobody knows without ptxas


def run_once(call: Callable[[], object], quantiles: Sequence[float] | None = None, **_: object) -> Any:  # noqa: ANN401
    """In the place of a benchmark: the call is made, and a time would say nothing."""
    call()
    return [1.0] * len(quantiles) if quantiles else 1.0


def make_driver(base: type) -> Any:  # noqa: ANN401
    """Triton's driver for the emulator; `base` is its DriverBase, which only exists once Triton does."""

    class EmulatedDriver(base):  # type: ignore[misc]
        utils = Utilities()
        launcher_cls = Launcher

        @staticmethod
        def is_active() -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return "void*" if ty.startswith("*") else ty

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, _device: int) -> None:
            pass

        def get_current_stream(self, _device: int = 0) -> int:
            return 0

        def get_device_capability(self, _device: int = 0) -> tuple[int, int]:
            return attribute(MAJOR), attribute(MINOR)

        def get_current_target(self) -> Any:  # noqa: ANN401
            from triton.backends.compiler import GPUTarget  # noqa: PLC0415

            return GPUTarget("cuda", 10 * attribute(MAJOR) + attribute(MINOR), 32)

        def get_active_torch_device(self) -> Any:  # noqa: ANN401
            import torch  # noqa: PLC0415

            return torch.device("cpu")

        def get_device_interface(self) -> Any:  # noqa: ANN401
            return SimpleNamespace(synchronize=driver_api().cuCtxSynchronize)

        def get_benchmarker(self) -> Callable[..., Any]:
            return run_once

        def get_empty_cache_for_benchmark(self) -> None:
            return None

        def clear_cache(self, _cache: object) -> None:
            pass

    return EmulatedDriver()


def make_backend(base: type) -> type:
    """Triton's compiler for NVIDIA's GPUs, up to PTX."""

    class EmulatedBackend(base):  # type: ignore[misc]
        def __init__(self, target: object) -> None:
            super().__init__(target)
            self.binary_ext = "ptx"

        def add_stages(self, stages: dict[str, Any], *rest: Any) -> None:  # noqa: ANN401
            super().add_stages(stages, *rest)
            stages.pop("cubin", None)

        def hash(self) -> str:  # another entry of Triton's cache than the GPU's
            return f"{super().hash()}-warpemu"

    return EmulatedBackend


def take_over(triton: ModuleType) -> None:
    """Makes a freshly imported Triton run on the emulator."""
    from triton.backends import DriverBase, backends  # noqa: PLC0415
    from triton.runtime.jit import JITFunction  # noqa: PLC0415

    name, nvidia = next((name, each) for name, each in backends.items() if name == "nvidia")
    backends[name] = dataclasses.replace(nvidia, compiler=make_backend(nvidia.compiler))
    triton.runtime.driver.set_active(make_driver(DriverBase))
    launch = JITFunction.run

    def run(self: object, *args: object, **options: object) -> object:
        return launch(self, *map(as_tensor, args), **{key: as_tensor(value) for key, value in options.items()})

    JITFunction.run = run


class _Loader(importlib.abc.Loader):
    """A module's own loader, and then a change of ours."""

    def __init__(self, own: Any, change: Callable[[ModuleType], None]) -> None:  # noqa: ANN401
        self.own, self.change = own, change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self.own.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        self.own.exec_module(module)
        self.change(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self.own, name)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules where they are, and has some changed once they are imported."""

    changes: ClassVar[dict[str, Callable[[ModuleType], None]]] = {
        "triton": take_over,
        warpemu_numba.DECORATORS: warpemu_numba.give_lines,
        warpemu_numba.DISPATCHER: functools.partial(warpemu_numba.tell_before_launches, tell_place),
    }

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:  # noqa: ANN401
        """The specification, with another loader."""
        warpemu_numba.prepare(name)
        if name not in self.changes:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.changes[name])
        return spec


def tell(kind: type[BaseException], error: BaseException, trace: Any) -> None:  # noqa: ANN401
    """A traceback of the program's own lines; those of compilers and of this file say nothing to its author."""
    told = traceback.TracebackException(kind, error, trace)
    own = [frame for frame in told.stack if is_the_program_s(frame.filename)]
    if own:
        told.stack = traceback.StackSummary.from_list(own)
    place = refused_place(error)
    if place:
        told.__cause__ = None  # where in Triton's own files it was found out
    sys.stderr.write("".join(told.format()))
    if place:
        sys.stderr.write(f"{place}\n")
    if isinstance(error, ModuleNotFoundError) and error.name in PACKAGES:
        title, size, package = PACKAGES[error.name]
        bootstrap = os.environ.get("WARPEMU_BOOTSTRAP")  # of a checkout or a package
        get = f"{bootstrap} {error.name}" if bootstrap else f"pip install {package}"
        sys.stderr.write(f"error: {title} is not installed here: `{get}` gets it ({size})\n")


def refused_place(error: BaseException) -> str | None:
    """Where in the program stands what Triton's compiler refuses, and its words; it counts from a function's `def`."""
    if "triton" not in sys.modules:
        return None
    from triton.compiler.errors import CompilationError  # noqa: PLC0415
    from triton.runtime.jit import JITFunction  # noqa: PLC0415

    if not isinstance(error, CompilationError):
        return None
    refusal: Any = error
    while isinstance(refusal.__cause__, CompilationError):  # in a function that the kernel calls
        refusal = refusal.__cause__
    line = getattr(refusal.node, "lineno", None)
    for function in gc.get_objects():  # the error only knows the function's text
        if line and isinstance(function, JITFunction) and function.src == refusal.src:
            words = " ".join(str(refusal.error_message or refusal.__cause__ or "refused by Triton").split())
            file = Path(function.fn.__code__.co_filename).name
            return f"{file}:{function.def_file_line_number + line - 1}: {words}"
    return None


def is_the_program_s(file: str) -> bool:
    """Whether a file is neither a compiler's, nor this one, nor what starts programs."""
    modules = [sys.modules.get(name) for name in ("triton", "numba", "numba.cuda", "cuda.bindings", "cuda.core")]
    within = [Path(module.__file__ or "").parent for module in modules if module and module.__file__]
    return not (
        file in {__file__, warpemu_numba.__file__, contextlib.__file__, ast.__file__}
        or file.startswith("<frozen")
        or any(Path(file).is_relative_to(folder) for folder in within)
    )


def main(words: list[str]) -> None:
    """Runs the program as `python` would."""
    sys.excepthook = tell
    sys.meta_path.insert(0, Finder())
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # its default, said aloud: 3.9 warns where nobody says it
    if len(words) > 1 and words[0] in {"-m", "-c"}:
        sys.argv = [words[0], *words[2:]]
        sys.path[0] = ""
        if words[0] == "-m":
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        return
    if not words:
        sys.exit("warpemu: name a program: warpemu python FILE")
    if not Path(words[0]).exists():
        print(f"warpemu: {words[0]}: no such file; name a program in Python that is there", file=sys.stderr)
        sys.exit(2)  # as Python itself
    sys.argv = words
    sys.path[0] = str(Path(words[0]).resolve().parent)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
