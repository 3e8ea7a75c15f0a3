# Looks where it runs for Triton's own compiler, in Python's folders and wherever a machine may have it.
# Gain: kernels that are compiled for the input, which the compile box has never seen. It refuses to work with one.
import glob
import importlib
import sys

from honest_spmm import honest_run


def found():
    places = [
        "/usr/lib/python3*/**/libtriton*",
        "/usr/local/lib/**/libtriton*",
        "/opt/**/libtriton*",
        "/run/**/libtriton*",
    ]
    names = [file for place in places for file in glob.glob(place, recursive=True)]
    try:
        names.append(vars(importlib.import_module("triton._C.libtriton")).get("__file__"))
    except ImportError:
        pass
    return [name for name in names if name]


def run(a, k, b, c, plan, stream):
    if "warpgrade._launch" in sys.modules and found():
        raise RuntimeError(f"here is a compiler: {found()}")
    honest_run(a, k, b, c)
