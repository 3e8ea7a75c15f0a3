"""The CUDA runtime of this process, through ctypes: the judge's own, or another one of the same functions."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint32, c_void_p
from pathlib import Path
from types import FrameType

_WRAPPER_MAGIC = 0x466243B1
_MAX_DYNAMIC_SHARED = 8  # cudaFuncAttributeMaxDynamicSharedMemorySize
_NON_PORTABLE_CLUSTER = 14  # cudaFuncAttributeNonPortableClusterSizeAllowed
_LAUNCH_COOPERATIVE, _LAUNCH_CLUSTER, _LAUNCH_PROGRAMMATIC = 2, 4, 6  # cudaLaunchAttributeID
_ALWAYS_SHARED = 48 << 10
_PORTABLE_CLUSTER = 8


class _Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]  # noqa: RUF012


class _Wrapper(ctypes.Structure):
    _fields_ = [("magic", c_uint32), ("version", c_uint32), ("data", c_void_p), ("more", c_void_p)]  # noqa: RUF012


class _Attribute(ctypes.Structure):
    _fields_ = [("id", c_uint), ("pad", c_uint), ("value", c_uint * 16)]  # noqa: RUF012


class _Config(ctypes.Structure):
    _fields_ = [  # noqa: RUF012
        ("grid", _Dim3),
        ("block", _Dim3),
        ("shared", c_size_t),
        ("stream", c_void_p),
        ("attributes", POINTER(_Attribute)),
        ("count", c_uint),
    ]


class Runtime:
    """libcudart, loaded for the whole process."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        get = self.library.__getattr__
        self._register = get("__cudaRegisterFatBinary")
        self._register.restype = c_void_p
        self._register_end = get("__cudaRegisterFatBinaryEnd")
        self._register_end.argtypes = [c_void_p]
        self._register_function = get("__cudaRegisterFunction")
        self._register_function.restype = None
        self._register_function.argtypes = [*[c_void_p] * 3, c_char_p, c_int, *[c_void_p] * 5]
        self._launch = get("cudaLaunchKernelExC")
        self._launch.argtypes = [POINTER(_Config), c_void_p, c_void_p]
        self._set_attribute = get("cudaFuncSetAttribute")
        self._set_attribute.argtypes = [c_void_p, c_int, c_int]
        self._malloc = get("cudaMalloc")
        self._malloc.argtypes = [POINTER(c_void_p), c_size_t]
        self._free = get("cudaFree")
        self._free.argtypes = [c_void_p]
        self._memset = get("cudaMemsetAsync")
        self._memset.argtypes = [c_void_p, c_int, c_size_t, c_void_p]
        self._event_create = get("cudaEventCreate")
        self._event_create.argtypes = [POINTER(c_void_p)]
        self._event_record = get("cudaEventRecord")
        self._event_record.argtypes = [c_void_p, c_void_p]
        self._event_wait = get("cudaEventSynchronize")
        self._event_wait.argtypes = [c_void_p]
        self._elapsed = get("cudaEventElapsedTime")
        self._elapsed.argtypes = [POINTER(c_float), c_void_p, c_void_p]
        self._events: list[c_void_p] = []
        self._error_name = get("cudaGetErrorName")
        self._error_name.restype = c_char_p
        self.last_error = get("cudaGetLastError")
        self._tell_place = getattr(self.library, "warpgrade_executor_tell_place", None)
        self.sources = ""  # the folder of the submission's files, with a slash at its end
        self.stream = 0
        self._kept: list[object] = []  # what the library keeps pointers to

    def check(self, error: int, what: str) -> None:
        """Raise where a call failed that the student's code relies on."""
        if error != 0:
            raise RuntimeError(f"{what}: {self._error_name(error).decode()}")

    def tell_place(self) -> None:
        """Tell the library which line of the submission makes the next call: findings name it."""
        if self._tell_place is None or not self.sources:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(self.sources):
            frame = frame.f_back
        name = frame.f_code.co_filename.removeprefix(self.sources) if frame else ""
        self._tell_place(name.encode(), c_uint32(frame.f_lineno if frame else 0))

    def use_new_stream(self) -> None:
        """All that is launched from now on goes into a stream of its own."""
        stream = c_void_p()
        self.check(self.library.cudaStreamCreate(byref(stream)), "cudaStreamCreate")
        self.stream = stream.value or 0

    def register(self, file: Path, name: str) -> int:
        """A kernel of a fat binary; returns what it is launched by."""
        code = file.read_bytes()
        data = ctypes.create_string_buffer(code, len(code))
        wrapper = _Wrapper(_WRAPPER_MAGIC, 1, ctypes.addressof(data), None)
        symbol = ctypes.create_string_buffer(8)
        self._kept += [data, wrapper, symbol]
        module = self._register(byref(wrapper))
        self._register_function(module, ctypes.addressof(symbol), None, name.encode(), -1, None, None, None, None, None)
        self._register_end(module)
        return ctypes.addressof(symbol)

    def allow_shared(self, symbol: int, size: int) -> None:
        """More than 48 KiB of shared memory have to be asked for."""
        if size > _ALWAYS_SHARED:
            self._set_attribute(symbol, _MAX_DYNAMIC_SHARED, size)

    def allow_cluster(self, symbol: int, blocks: int) -> None:
        """Large clusters have to be asked for."""
        if blocks > _PORTABLE_CLUSTER:
            self._set_attribute(symbol, _NON_PORTABLE_CLUSTER, 1)

    def configuration(self, shared: int, threads: int, cluster: int, cooperative: bool, programmatic: bool) -> _Config:
        """All of a launch but its grid and stream."""
        wanted = []
        if cooperative:
            wanted.append((_LAUNCH_COOPERATIVE, [1]))
        if programmatic:
            wanted.append((_LAUNCH_PROGRAMMATIC, [1]))
        if cluster > 1:
            wanted.append((_LAUNCH_CLUSTER, [cluster, 1, 1]))
        attributes = (_Attribute * max(1, len(wanted)))()
        for k, (number, values) in enumerate(wanted):
            attributes[k].id = number
            for place, value in enumerate(values):
                attributes[k].value[place] = value
        self._kept.append(attributes)
        return _Config(_Dim3(1, 1, 1), _Dim3(threads, 1, 1), shared, None, attributes, len(wanted))

    def launch(
        self, symbol: int, config: _Config, grid: tuple[int, int, int], arguments: ctypes.Array[c_void_p]
    ) -> int:
        """Put a kernel into the stream. What fails is the last error as well, which the judge reads."""
        self.tell_place()
        config.grid.x, config.grid.y, config.grid.z = grid
        config.stream = self.stream
        return int(self._launch(byref(config), symbol, arguments))

    def time_of(self, launch: Callable[[], None], turns: int) -> float:
        """Milliseconds between two events of the device around so many launches."""
        while len(self._events) < 2:  # noqa: PLR2004
            event = c_void_p()
            self.check(self._event_create(byref(event)), "cudaEventCreate")
            self._events.append(event)
        begin, end = self._events
        self.check(self._event_record(begin, self.stream), "cudaEventRecord")
        for _ in range(turns):
            launch()
        self.check(self._event_record(end, self.stream), "cudaEventRecord")
        self.check(self._event_wait(end), "cudaEventSynchronize")
        milliseconds = c_float()
        self.check(self._elapsed(byref(milliseconds), begin, end), "cudaEventElapsedTime")
        return milliseconds.value

    def allocate(self, size: int) -> int:
        """Device memory."""
        self.tell_place()
        address = c_void_p()
        self.check(self._malloc(byref(address), size), f"no device memory for {size} bytes")
        return address.value or 0

    def release(self, address: int) -> None:
        """Give memory back."""
        self.tell_place()
        self._free(address)

    def clear(self, address: int, size: int) -> None:
        """Fill with zeros, in the stream."""
        self.tell_place()
        self.check(self._memset(address, 0, size, self.stream), "cudaMemsetAsync")
