"""The table of the emulator's counters beside ncu's: kernels find each other, launches add up, differences are told."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

PREFIX, SUFFIX = "l1tex__t", "pipe_lsu_mem_global_op_ld.sum"
CSV = f""""ID","Kernel Name","{PREFIX}_requests_{SUFFIX}","{PREFIX}_sectors_{SUFFIX}"
"","","",""
"0","<unnamed>::spmm_kernel<4, 32>(CsrMatrix, int)","1,000","4000"
"1","<unnamed>::spmm_kernel<4, 32>(CsrMatrix, int)","1,000","4000"
"""


@pytest.fixture(scope="module")
def compare_ncu() -> ModuleType:
    path = ROOT / "grader/emulator/tests/hardware/compare_ncu.py"
    spec = importlib.util.spec_from_file_location("compare_ncu", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare_ncu"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "spmm_kernel",
        "spmm_kernel(int)",
        "(anonymous namespace)::spmm_kernel<4, 32>(CsrMatrix, int)",
        "<unnamed>::spmm_kernel<4, 32>(CsrMatrix, int)",
        "void lab::detail::spmm_kernel<T>(const float *)",
    ],
)
def test_a_kernel_has_one_name_on_both_sides(compare_ncu: ModuleType, name: str) -> None:
    assert compare_ncu.base_name(name) == "spmm_kernel"


def test_launches_add_up_and_a_difference_beyond_five_percent_is_told(compare_ncu: ModuleType, tmp_path: Path) -> None:
    record = tmp_path / "run.csv"
    record.write_text(CSV, encoding="utf-8")
    theirs = compare_ncu.read_ncu(record)
    ours = {"spmm_kernel": {"global_load_requests": 2000, "global_load_sectors": 8800}}
    told = dict(zip(("requests", "sectors", "quotient"), compare_ncu.compare("run", theirs, ours), strict=True))
    assert told["requests"] == (True, "| run | spmm_kernel | load requests | 2000 | 2000 | 0.0 % |  |")
    assert told["sectors"] == (False, "| run | spmm_kernel | load sectors | 8000 | 8800 | 10.0 % | apart |")
    assert told["quotient"][0] is False


def test_a_kernel_that_one_side_lacks_is_told(compare_ncu: ModuleType) -> None:
    ((within, text),) = compare_ncu.compare("run", {"spmm_kernel": {}}, {})
    assert not within
    assert "only on the GPU" in text
